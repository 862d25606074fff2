import type { PlannedRequest } from '../model/envelope';
import type { JsonObject } from '../model/json';
import { jsonText } from '../model/json-text';
import { MASK } from '../model/redaction';
import type { Request } from '../model/request';
import { shownQuery } from '../model/secrets';
import type { Masking } from './many';

/** What a dry run would send, secrets masked. */
export class Plan {
  readonly requests: PlannedRequest[] = [];
  readonly #masking: Masking;

  constructor(masking: Masking) {
    this.#masking = masking;
  }

  /** `shown` stands for a body that streams. Errors: `BAD_INPUT` for a body that could not be sent, since a plan that cannot be is none. */
  add({ method, path, query, rawQuery, body: own }: Request, shown?: JsonObject): void {
    const body = shown ?? own;
    if (body) jsonText(body);
    const planned = {
      path,
      ...(query && { query: shownQuery(query, MASK) }),
      ...(rawQuery && { rawQuery: shownQuery(rawQuery, MASK) }),
      ...(body && { body }),
    };
    this.requests.push({ method, ...this.#masking.value(planned) });
  }
}
