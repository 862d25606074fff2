import type { PlannedRequest } from '../model/envelope';
import type { JsonObject } from '../model/json';
import { toJsonText } from '../model/json-text';
import { MASK } from '../model/redaction';
import type { Request } from '../model/request';
import { redactQuery } from '../model/secrets';
import type { Masker } from './bulk';

/** What a dry run would send, secrets masked. */
export class DryRunPlan {
  readonly requests: PlannedRequest[] = [];
  readonly #masker: Masker;

  constructor(masker: Masker) {
    this.#masker = masker;
  }

  /** `shown` stands for a body that streams. Errors: `BAD_INPUT` for a body that could not be sent, since a plan that cannot be is none. */
  add({ method, path, query, rawQuery, body: requestBody }: Request, plannedBody?: JsonObject): void {
    const body = plannedBody ?? requestBody;
    if (body) toJsonText(body);
    const plannedRequest = {
      path,
      ...(query && { query: redactQuery(query, MASK) }),
      ...(rawQuery && { rawQuery: redactQuery(rawQuery, MASK) }),
      ...(body && { body }),
    };
    this.requests.push({ method, ...this.#masker.value(plannedRequest) });
  }
}
