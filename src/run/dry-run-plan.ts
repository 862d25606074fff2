import type { PlannedRequest } from '../model/envelope';
import { copyJson, type JsonObject } from '../model/json';
import { toJsonText } from '../model/json-text';
import { MASK } from '../model/redaction';
import type { Request } from '../model/request';
import { redactQuery } from '../model/secrets';
import type { SecretMasker } from './bulk';

/** The requests that a dry run would send, with secrets masked. */
export class DryRunPlan {
  readonly requests: PlannedRequest[] = [];
  readonly #masker: SecretMasker;

  constructor(masker: SecretMasker) {
    this.#masker = masker;
  }

  /** `plannedBody` replaces the body of a streaming request. Errors: `BAD_INPUT` for a body that cannot be serialized. */
  add({ method, path, query, rawQuery, body: requestBody }: Request, plannedBody?: JsonObject, item?: unknown): void {
    const sentBody = plannedBody ?? requestBody;
    // A copy, so that nobody changes the input through the plan.
    const body = sentBody && (JSON.parse(toJsonText(sentBody)) as JsonObject);
    const plannedRequest = {
      path,
      ...(query && { query: redactQuery(query, MASK) }),
      ...(rawQuery && { rawQuery: redactQuery(rawQuery, MASK) }),
      ...(body && { body }),
      ...(item !== undefined && { item: copyJson(item) }),
    };
    this.requests.push({ method, ...this.#masker.value(plannedRequest) });
  }
}
