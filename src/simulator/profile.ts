import { readFileSync } from 'node:fs';
import { type Json, type JsonObject, isObject } from './body-shape';
import { type Reply, htmlReply, jsonReply } from './reply';
import { type VariantValue, type Variant, type Variants, VARIANTS } from './variants';

/** What a conformance check found at an appliance (docs/guide/conformance.md): the simulator answers like it. */
export interface SimulatorProfile {
  readonly release: string;
  readonly variants: Partial<Variants>;
  readonly endpoints: readonly ProfileEndpoint[];
  /** Options from the profile: words in its keys, and no sessions if nobody was signed in. */
  readonly defaults: { readonly vendor?: string; readonly brand?: string; readonly thirdParty?: string; readonly sessions?: number };
}

interface ProfileEndpoint {
  /** Empty for a valid API key. */
  readonly credentials: string;
  readonly segments: readonly string[];
  readonly query: string;
  readonly status: number;
  readonly body: string;
  readonly keys: KeyNode;
}

/** The kinds of one key in a profile, and whether some items lack it. */
interface KeyNode {
  options: readonly string[];
  readonly children: Map<string, KeyNode>;
  items: KeyNode | undefined;
}

const FORMAT = 'gateway-profile/1';
const SESSIONS = 'system/active-users';
/** Enough items to show each kind of a key once. */
const MADE_ITEMS = 4;
/** Stands for a text that this simulator does not have. It must not look like a key. */
const FILLER = '-';

/** Reads a profile: the object itself, or the path of its file. Throws a plain sentence about what is wrong with it. */
export function readProfile(source: string | object): SimulatorProfile {
  const value: unknown = typeof source === 'string' ? parseFile(source) : source;
  if (!isObject(value) || value.format !== FORMAT) throw new Error(`The profile must be an object with the format "${FORMAT}".`);
  const { variants, endpoints, release } = value;
  if (!isObject(variants) || !Array.isArray(endpoints))
    throw new Error('The profile needs "variants", an object, and "endpoints", a list.');
  const reads = endpoints.filter((entry) => isObject(entry) && entry.method === 'GET') as JsonObject[];
  return {
    release: typeof release === 'string' ? release : '',
    variants: Object.assign({}, ...Object.entries(variants).map(readVariant)) as Partial<Variants>,
    endpoints: reads.map(readEndpoint),
    defaults: { ...findWords(reads), ...(isWithoutSessions(reads) && { sessions: 0 }) },
  };
}

function parseFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`The profile ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** A variant that this simulator does not know is left out: the profile may be newer. */
function readVariant([name, value]: [string, unknown]): Partial<Variants> {
  if (!Object.hasOwn(VARIANTS, name)) return {};
  const variant = VARIANTS[name as keyof Variants] as Variant<VariantValue>;
  const isAllowed = variant.values ? variant.values.some((one) => one === value) : typeof value === typeof variant.default;
  if (!isAllowed) throw new Error(`The profile has a value of the variant "${name}" that does not exist.`);
  return { [name]: value };
}

function readEndpoint({ path, status, body, keys, credentials }: JsonObject): ProfileEndpoint {
  if (typeof path !== 'string' || typeof status !== 'number' || !isObject(keys))
    throw new Error('Each endpoint of a profile needs "path", "status" and "keys".');
  const [plain = '', query = ''] = path.split('?');
  return {
    credentials: typeof credentials === 'string' ? credentials : '',
    segments: plain.split('/').slice(1),
    query,
    status,
    body: typeof body === 'string' ? body : 'json',
    keys: readKeys(keys),
  };
}

function readKeys(keys: JsonObject): KeyNode {
  const root = createNode();
  for (const [path, kinds] of Object.entries(keys)) {
    let node = root;
    for (const name of path.split('/')) {
      if (name === '[]' && !node.items) Object.assign(node, { items: createNode(), options: ['array'] });
      node = (name === '[]' ? node.items : undefined) ?? getChild(node, name);
    }
    const text = typeof kinds === 'string' ? kinds : 'text';
    node.options = [...text.replace('?', '').split('|'), ...(text.endsWith('?') ? ['absent'] : [])];
  }
  return root;
}

const createNode = (): KeyNode => ({ options: ['object'], children: new Map(), items: undefined });

function getChild(node: KeyNode, name: string): KeyNode {
  const child = node.children.get(name) ?? createNode();
  node.children.set(name, child);
  return child;
}

function findWords(reads: readonly JsonObject[]): SimulatorProfile['defaults'] {
  const names = reads.flatMap(({ keys }) => (isObject(keys) ? Object.keys(keys) : [])).flatMap((path) => path.split('/'));
  const find = (ending: string): string | undefined =>
    names.find((name) => name.endsWith(ending) && name !== `host${ending}`)?.slice(0, -ending.length);
  const [vendor, brand, thirdParty] = [find('-enforcer'), find('-client-version'), find('-sdk-version')];
  return {
    ...(vendor !== undefined && { vendor }),
    ...(brand !== undefined && { brand: brand.charAt(0).toUpperCase() + brand.slice(1) }),
    ...(thirdParty !== undefined && { thirdParty }),
  };
}

function isWithoutSessions(reads: readonly JsonObject[]): boolean {
  const list = reads.find(({ path, status }) => path === `/api/v1/${SESSIONS}` && status === 200);
  return list !== undefined && isObject(list.keys) && !Object.keys(list.keys).some((path) => path.includes('[]'));
}

/** A read in the form of a profile. */
interface ProfileRequest {
  readonly segments: readonly string[];
  readonly query: string;
  /** `none`, `made-up-key`, or empty for a valid API key. */
  readonly credentials: string;
}

/** Returns the answer to a read as the appliance of the profile gives it. */
export function shapeReply(profile: SimulatorProfile, request: ProfileRequest, reply: Reply): Reply {
  const endpoint = findEndpoint(profile, request);
  if (!endpoint || reply.stream) return reply;
  const isFixed = !endpoint.segments.includes('*');
  const isSuccess = reply.status >= 200 && reply.status < 300;
  if (!isSuccess && !isFixed) return reply;
  if (endpoint.body === 'empty') return { status: endpoint.status };
  if (endpoint.body !== 'json') return endpoint.status === reply.status ? reply : htmlReply(endpoint.status, 'As in the profile');
  const document: unknown = endpoint.status === reply.status || isSuccess ? parseJson(reply.body) : undefined;
  return jsonReply(toShape(document as Json | undefined, endpoint.keys, 0, isSessionList(request)), endpoint.status);
}

const isSessionList = ({ segments }: ProfileRequest): boolean => segments.slice(2).join('/') === SESSIONS;

function findEndpoint({ endpoints }: SimulatorProfile, request: ProfileRequest): ProfileEndpoint | undefined {
  const { segments, query, credentials } = request;
  const isSame = (one: ProfileEndpoint): boolean =>
    one.credentials === credentials &&
    one.segments.length === segments.length &&
    one.segments.every((name, index) => name === '*' || name === segments[index]);
  const candidates = endpoints.filter(isSame);
  // The records of a search by name have other keys. The simulator itself cuts the page.
  const wanted = isSessionList(request) ? (/(?:^|&)name=/.test(query) ? 'name=*' : '') : query;
  const exact = candidates.find((one) => one.query === wanted);
  return exact ?? (isSessionList(request) ? undefined : candidates.find((one) => one.query === ''));
}

function parseJson(body: Reply['body']): unknown {
  try {
    return JSON.parse(String(body ?? ''));
  } catch {
    return undefined;
  }
}

/**
 * A value with the keys and kinds of the profile. Items of a list take turns with the kinds that were seen. `isPage`: above the records of
 * a page, whose number and place are a matter of the variants.
 */
function toShape(value: Json | undefined, node: KeyNode, index: number, isPage: boolean): Json {
  switch (node.options[index % node.options.length] ?? 'text') {
    case 'object': {
      const own: JsonObject = isObject(value) ? value : {};
      const isShown = ([name, { options, children, items }]: [string, KeyNode]): boolean =>
        isPage && (children.size > 0 || items) ? own[name] !== undefined : options[index % options.length] !== 'absent';
      const entries = [...node.children].filter(isShown);
      return Object.fromEntries(entries.map(([name, child]) => [name, toShape(own[name], child, index, isPage)]));
    }
    case 'array':
      return toItems(value, node.items, isPage);
    case 'null':
      return null;
    case 'number':
      return Number.isFinite(Number(value ?? NaN)) ? Number(value) : 0;
    case 'boolean':
      return value === true || value === 'true';
    default:
      return toText(value);
  }
}

function toItems(value: Json | undefined, items: KeyNode | undefined, isPage: boolean): Json[] {
  const own = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  // A page keeps its length. Any other list that was empty in the profile is empty.
  if (!items) return isPage ? own : [];
  const all: (Json | undefined)[] = own.length > 0 || isPage ? own : new Array<undefined>(MADE_ITEMS).fill(undefined);
  return all.map((item, index) => toShape(item, items, index, false));
}

function toText(value: Json | undefined): string {
  if (isObject(value)) {
    const name = value.name ?? value.username;
    return typeof name === 'string' ? name : FILLER;
  }
  return value === undefined || value === null || Array.isArray(value) ? FILLER : String(value);
}
