import { findNameLists, type NameList } from '../change/name-lists';
import { asGatewayError, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT, encodePathSegment } from '../model/path';
import { safeMessage } from '../model/safe-message';
import type { UnorderedLists } from '../change/unordered-lists';
import type { IgnoreRules } from './ignore-rules';
import { splitResourcePath } from '../model/path';
import { MAX_PATH_DEPTH, isPathWithin, normalizePath } from './resource-path';
import { isEmptyResource, separateLinks } from './resource';

/** Maximum number of resources. No appliance has more, and the limit stops endless chains of links. */
const MAX_RESOURCES = 500_000;
/** Maximum number of resources per connection that wait for the disk. Above it, reading pauses. */
const MAX_HANDLING_PER_CONNECTION = 8;
/** Maximum number of times that a list is read again because a linked resource is gone. */
const MAX_ROUNDS = 3;
/** Resources that policy appliances serve but do not link from the root (appliance-api.md, "Configuration root"). */
const UNLINKED_ROOT = `${CONFIGURATION_ROOT}/uac`;

interface CrawlOptions {
  /** Path of the topmost resource. Nothing outside it is read. */
  readonly root: string;
  readonly ignore: IgnoreRules;
  readonly unordered?: UnorderedLists;
  /** Receives each resource that holds more than links, and once more if it is read again. */
  readonly onResource: (path: string, resource: JsonObject) => Promise<void>;
  /** Receives each resource that holds neither fields nor links, with the names of its empty lists. */
  readonly onEmpty?: (path: string, lists: readonly string[]) => void;
  /** Receives the links of one resource before any of them is read. */
  readonly onLinks?: (paths: readonly string[]) => void;
}

/** The result of a crawl besides the resources. */
export interface CrawlResult {
  /** Paths of resources that the account may not read. */
  readonly forbidden: ReadonlySet<string>;
  /** Paths that are linked but do not exist. */
  readonly missing: ReadonlySet<string>;
  /** Paths that were deleted during the crawl, with everything below them. */
  readonly vanished: ReadonlySet<string>;
  /** Addresses outside the configuration of this appliance; they were not followed. */
  readonly refused: readonly string[];
}

interface PendingLink {
  readonly path: string;
  readonly parent: string | undefined;
}

/** Reads everything below a path and follows every link once, in parallel. Throws the first read error with its path. */
export function crawlConfiguration(options: CrawlOptions, call: OperationContext): Promise<CrawlResult> {
  return new Crawler(options, call).run();
}

class Crawler implements CrawlResult {
  readonly forbidden = new Set<string>();
  readonly missing = new Set<string>();
  readonly vanished = new Set<string>();
  readonly refused: string[] = [];
  readonly #options: CrawlOptions;
  readonly #call: OperationContext;
  readonly #prefix: string;
  readonly #visited = new Set<string>();
  /** Links that are still to be followed. The last one found is followed first, which keeps the list short. */
  readonly #pending: PendingLink[] = [];
  /** Links to resources that are gone, by the path of the resource with the link. */
  readonly #missingByParent = new Map<string, Set<string>>();
  /** Number of resources being read. */
  #readingCount = 0;
  /** Number of resources being handled. A slow disk must not leave connections idle. */
  #handlingCount = 0;

  constructor(options: CrawlOptions, call: OperationContext) {
    this.#options = options;
    this.#call = call;
    this.#prefix = call.settings.prefix;
  }

  async run(): Promise<CrawlResult> {
    const { root } = this.#options;
    this.#enqueue({ path: root, parent: undefined });
    await this.#followPending();
    if (root === CONFIGURATION_ROOT && !this.#visited.has(UNLINKED_ROOT)) this.#enqueue({ path: UNLINKED_ROOT, parent: undefined });
    await this.#followPending();
    for (let round = 1; this.#missingByParent.size > 0 && round <= MAX_ROUNDS; round++) await this.#rereadLists();
    for (const paths of this.#missingByParent.values()) for (const path of paths) this.missing.add(path);
    return this;
  }

  /** Reads lists with missing links again and follows their current links once more. */
  async #rereadLists(): Promise<void> {
    const lists = [...this.#missingByParent];
    this.#missingByParent.clear();
    for (const [list, paths] of lists) {
      for (const path of paths) this.#visited.delete(path);
      this.#pending.push({ path: list, parent: undefined });
    }
    await this.#followPending();
  }

  #enqueue(link: PendingLink): void {
    if (this.#visited.has(link.path) || this.#options.ignore.ignoresPath(link.path)) return;
    if (this.#visited.size >= MAX_RESOURCES) {
      throw new GatewayError('LIMIT', safeMessage`The configuration has more than ${MAX_RESOURCES} resources. Enter the path of a part.`);
    }
    this.#visited.add(link.path);
    this.#pending.push(link);
  }

  /** Keeps twice as many reads as connections, so that a free connection always has work. */
  #followPending(): Promise<void> {
    const { connections } = this.#call.settings;
    return new Promise((resolve, reject) => {
      let failure: unknown;
      const fail = (error: unknown): void => void (failure ??= error);
      const onResource = (path: string, resource: JsonObject): void => {
        this.#handlingCount++;
        const finish = (): void => {
          this.#handlingCount--;
          next();
        };
        void this.#options.onResource(path, resource).catch(fail).finally(finish);
      };
      const next = (): void => {
        while (
          failure === undefined &&
          this.#readingCount < 2 * connections &&
          this.#handlingCount < MAX_HANDLING_PER_CONNECTION * connections
        ) {
          const link = this.#pending.pop();
          if (!link) break;
          this.#readingCount++;
          const finish = (): void => {
            this.#readingCount--;
            next();
          };
          void this.#read(link, onResource).catch(fail).finally(finish);
        }
        if (this.#readingCount + this.#handlingCount > 0) return;
        // Waits for all running work before it rejects.
        if (failure === undefined) resolve();
        else reject(asGatewayError(failure));
      };
      next();
    });
  }

  async #read({ path, parent }: PendingLink, onResource: (path: string, resource: JsonObject) => void): Promise<void> {
    let document: JsonObject;
    try {
      document = await this.#call.read({ method: 'GET', path });
    } catch (thrown) {
      this.#handleReadError(path, parent, asGatewayError(thrown));
      return;
    }
    const paths = new Set<string>();
    const { resource: ownFields, hrefs } = separateLinks(document, (href) => this.#isConfigurationLink(href));
    const { resource, entries } = await this.#expandNames(path, ownFields);
    for (const entry of entries) paths.add(entry);
    for (const href of hrefs) {
      const target = this.#resolve(href);
      if (target !== undefined && target !== path && isPathWithin(target, this.#options.root)) paths.add(target);
    }
    this.#options.onLinks?.([...paths]);
    for (const target of paths) this.#enqueue({ path: target, parent: path });
    if (Object.keys(resource).length > 0 && !isEmptyCollection(path, resource)) onResource(path, this.#toCountedResource(path, resource));
    else if (paths.size === 0) this.#options.onEmpty?.(path, Object.keys(resource));
  }

  #toCountedResource(path: string, resource: JsonObject): JsonObject {
    const { ignore, unordered } = this.#options;
    const filtered = ignore.filterResource(path, resource);
    return unordered?.sort(path, filtered) ?? filtered;
  }

  /** Replaces names without links by paths, if the first path exists. */
  async #expandNames(path: string, ownFields: JsonObject): Promise<{ resource: JsonObject; entries: readonly string[] }> {
    const resourceNames: NameList[] = [];
    for (const names of findNameLists(path, ownFields)) if (await this.#exists(names.paths[0] ?? '')) resourceNames.push(names);
    if (resourceNames.length === 0) return { resource: ownFields, entries: [] };
    const keys = new Set(resourceNames.map(({ key }) => key));
    const rest = Object.entries(ownFields).filter(([key]) => !keys.has(key));
    return { resource: Object.fromEntries(rest), entries: resourceNames.flatMap(({ paths }) => paths) };
  }

  async #exists(path: string): Promise<boolean> {
    if (this.#options.ignore.ignoresPath(path)) return true;
    try {
      await this.#call.read({ method: 'GET', path });
      return true;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.requestCode === 'FORBIDDEN') return true;
      if (isNotFoundError(error) || error.requestCode === 'INVALID_REQUEST' || error.requestCode === 'REJECTED') return false;
      throw error;
    }
  }

  #handleReadError(path: string, parent: string | undefined, error: GatewayError): void {
    const isRoot = path === this.#options.root;
    if (isNotFoundError(error) && parent !== undefined) {
      const paths = this.#missingByParent.get(parent) ?? new Set();
      this.#missingByParent.set(parent, paths.add(path));
    } else if (isNotFoundError(error) && (!isRoot || this.#visited.size > 1)) this.vanished.add(path);
    else if (error.requestCode === 'FORBIDDEN' && !isRoot) this.forbidden.add(path);
    else if (error.code === 'ABORTED') throw error;
    else {
      const extra = { ...error.details.extra, path };
      throw new GatewayError(error.code, safeMessage`${path} could not be read: ${error}`, { ...error.details, extra });
    }
  }

  #isConfigurationLink(href: string): boolean {
    try {
      return href.includes(`${CONFIGURATION_ROOT}/`) && normalizePath(href, this.#prefix) !== CONFIGURATION_ROOT;
    } catch {
      return false;
    }
  }

  /** Returns the path to follow; undefined if the link must not be followed. Records the first thousand refused links. */
  #resolve(href: string): string | undefined {
    try {
      const path = normalizePath(href, this.#prefix);
      if (href.includes(CONFIGURATION_ROOT) && splitResourcePath(path).length <= MAX_PATH_DEPTH) return path;
    } catch {
      // Reported below.
    }
    if (this.refused.length < 1000 && !this.refused.includes(href)) this.refused.push(href);
    return undefined;
  }
}

/** Returns whether the resource is only the empty list of its own items. */
function isEmptyCollection(path: string, resource: JsonObject): boolean {
  const [key = '', second] = Object.keys(resource);
  return second === undefined && isEmptyResource(resource) && splitResourcePath(path).at(-1) === encodePathSegment(key);
}

/** Some releases report a missing resource by 404, others by an error in a 200 response. */
export function isNotFoundError({ requestCode, code, details }: GatewayError): boolean {
  return requestCode === 'NOT_FOUND' || (code === 'APPLIANCE_ERROR' && details.status === 200 && reportsNotFound(details.result?.errors));
}

function reportsNotFound(errors: readonly { message: string }[] = []): boolean {
  return errors.some(({ message }) => /does not exist|not found/i.test(message.slice(0, 1000)));
}

/** Adds the results of a crawl to the envelope. */
export function addCrawlToEnvelope({ forbidden, missing, refused }: CrawlResult, call: OperationContext): void {
  call.addToEnvelope({
    forbidden: [...forbidden].sort(),
    ...(missing.size > 0 && { missing: [...missing].sort() }),
    ...(refused.length > 0 && { refused }),
  });
}
