import { assertParsableJson } from '../http/json-size';
import { asGatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { RawConnection, RawReply, RawRequest } from '../model/raw-exchange';
import { MaskedKeyNames } from './key-names';
import type { RequestPacer } from './pacer';
import { formatEndpointName, type ProfileEndpoint, type VariantValue } from './profile';
import { ResponseShape } from './response-shape';

/** A probe: the request, and the form of its path that may be shown. */
interface ProbeRequest extends Partial<RawRequest> {
  /** Path and query with `*` for names. */
  readonly template: string;
}

/** A response to a probe. Status 0 means that no response arrived. */
export interface ProbeResponse {
  readonly status: number;
  readonly body: ProfileEndpoint['body'];
  readonly contentType: string;
  readonly etag: string | undefined;
  /** The JSON object, or an empty one. */
  readonly document: JsonObject;
  readonly isSuccess: boolean;
}

/** One line of the report: a fixed text without values of the appliance. */
interface ConformanceReportLine {
  readonly text: string;
  /** The consequence for flows; set if the appliance differs from the interface description. */
  readonly meaning?: string;
}

interface UntriedProbe {
  readonly what: string;
  readonly why: string;
}

interface EndpointRecord {
  readonly method: string;
  readonly path: string;
  readonly credentials?: string;
  readonly status: number;
  readonly body: ProfileEndpoint['body'];
  readonly shape: ResponseShape;
  bytes: number;
  readonly times: number[];
}

/** Number of consecutive failures after which the appliance counts as unreachable. */
const MAX_FAILURES_IN_A_ROW = 3;
const FATAL = new Set([
  'ABORTED',
  'LIMIT',
  'LOGIN_REJECTED',
  'LOGIN_PAUSED',
  'SECOND_FACTOR_REQUIRED',
  'UNAUTHORIZED',
  'BAD_CONFIG',
  'TLS',
]);

const NO_RESPONSE: ProbeResponse = { status: 0, body: 'empty', contentType: '', etag: undefined, document: {}, isSuccess: false };

/** Sends probes and records the safe parts of their responses. Values stay in memory and are only compared. */
export class ProbeRunner {
  readonly variants: Record<string, VariantValue> = {};
  readonly facts: ConformanceReportLine[] = [];
  readonly untried: UntriedProbe[] = [];
  /** What a check with writes could not remove. */
  readonly leftBehind: string[] = [];
  readonly keyNames = new MaskedKeyNames();
  release = '';
  /** A key that the appliance changed by itself after a write. */
  changedField: string | undefined;
  readonly #endpoints = new Map<string, EndpointRecord>();
  #failures = 0;

  constructor(
    readonly connection: RawConnection,
    readonly pacer: RequestPacer,
    readonly onStep: (step: string) => void,
  ) {}

  async get(template: string, more: Omit<ProbeRequest, 'template' | 'method'> = {}): Promise<ProbeResponse> {
    return this.send({ ...more, template, method: 'GET' });
  }

  async send(probe: ProbeRequest): Promise<ProbeResponse> {
    await this.pacer.reserve();
    return this.#exchange(probe);
  }

  /** Sends a probe that removes an item, even after a cancellation or when no requests are left. Never fails. */
  async cleanUp(probe: ProbeRequest): Promise<ProbeResponse> {
    await this.pacer.reserveCleanup();
    try {
      return await this.#exchange({ ...probe, isCleanup: true });
    } catch {
      return NO_RESPONSE;
    }
  }

  /** Sends the same probe several times at once. */
  async sendAtOnce(count: number, probe: ProbeRequest): Promise<ProbeResponse[]> {
    await this.pacer.reserve(count);
    return Promise.all(Array.from({ length: count }, () => this.#exchange(probe)));
  }

  async #exchange({ template, method = 'GET', path = template, ...more }: ProbeRequest): Promise<ProbeResponse> {
    this.onStep(`${method} ${template}`);
    try {
      const reply = await this.connection.send({ method, path, ...more });
      this.#failures = 0;
      return this.#record(method, template, more.credentials, reply);
    } catch (thrown) {
      const { code } = asGatewayError(thrown);
      if (FATAL.has(code) || ++this.#failures >= MAX_FAILURES_IN_A_ROW || this.#endpoints.size === 0) throw thrown;
      this.untried.push({ what: `${method} ${template}`, why: `no response came (${code})` });
      return NO_RESPONSE;
    }
  }

  #record(method: string, path: string, sentWith: RawRequest['credentials'], reply: RawReply): ProbeResponse {
    const { status, contentType, etag, text, bytes, ms } = reply;
    const json = parseBody(text);
    const body: EndpointRecord['body'] =
      text.trim() === '' ? 'empty' : json !== undefined ? 'json' : text.trimStart().startsWith('<') ? 'html' : 'text';
    const credentials = sentWith === undefined || sentWith === 'session' ? {} : { credentials: nameCredentials(sentWith) };
    const name = formatEndpointName({ method, path, ...credentials });
    const isSuccess = status >= 200 && status < 300;
    const known = this.#endpoints.get(name);
    // Of several names, one that exists says most.
    const isBetter = known !== undefined && isSuccess && known.status >= 300;
    const fresh: EndpointRecord = {
      method,
      path,
      ...credentials,
      status,
      body,
      shape: new ResponseShape(),
      bytes: 0,
      times: known?.times ?? [],
    };
    const record = !known || isBetter ? fresh : known;
    this.#endpoints.set(name, record);
    record.times.push(ms);
    record.bytes = Math.max(record.bytes, bytes);
    if (json !== undefined) {
      this.keyNames.collect(json);
      if (record.status === status) record.shape.add(json);
    }
    const document = isObject(json) ? json : {};
    return { status, body, contentType, etag, document, isSuccess };
  }

  found(variant: string, value: VariantValue): void {
    this.variants[variant] = value;
  }

  note(text: string, meaning?: string): void {
    this.facts.push({ text, ...(meaning !== undefined && { meaning }) });
  }

  skip(what: string, why: string): void {
    this.untried.push({ what, why });
  }

  toEndpoints(): ProfileEndpoint[] {
    return [...this.#endpoints.values()].map(({ shape, times: _times, ...rest }) => ({ ...rest, keys: shape.toKeys(this.keyNames.show) }));
  }

  /** Milliseconds of the requests with the API key. */
  timesByEndpoint(): [string, readonly number[]][] {
    return [...this.#endpoints.values()]
      .filter(({ credentials }) => credentials === undefined)
      .map((one) => [formatEndpointName(one), one.times]);
  }
}

function nameCredentials(credentials: NonNullable<RawRequest['credentials']>): string {
  return typeof credentials === 'string' ? credentials : 'made-up-account';
}

function parseBody(text: string): unknown {
  try {
    assertParsableJson(Buffer.from(text));
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
