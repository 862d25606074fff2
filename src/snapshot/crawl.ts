import { findNameLists, type NameList } from '../change/name-lists';
import { asGatewayError, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT, encodeSegment } from '../model/path';
import { safeMessage } from '../model/safe-message';
import type { IgnoreRules } from './ignore-rules';
import { MAX_PATH_DEPTH, isPathWithin, normalizePath, splitResourcePath } from './resource-path';
import { isEmptyResource, separateLinks } from './resource';

/** More than any appliance has: links that lead on and on lead nowhere. */
const MAX_RESOURCES = 500_000;
/** So many wait to be taken for each connection; beyond them, reading waits. */
const MAX_HANDLING_PER_CONNECTION = 8;
/** How often a list is read again because a link of it was gone. */
const MAX_ROUNDS = 3;
/** Served by policy appliances, and not linked from the root (appliance-api.md, "Configuration root"). */
const UNLINKED_ROOT = `${CONFIGURATION_ROOT}/uac`;

export interface CrawlOptions {
  /** Where it begins; nothing outside of it is read. */
  readonly root: string;
  readonly ignore: IgnoreRules;
  /** Gets each resource that holds more than links, once or, where it was read again, once more; `listed` is what it links. */
  readonly onResource: (path: string, resource: JsonObject) => Promise<void>;
  /** Gets what one resource links, before any of it is read. */
  readonly onLinks?: (paths: readonly string[]) => void;
}

/** What a crawl came by beside the resources. */
export interface CrawlResult {
  /** What the account may not read. */
  readonly forbidden: ReadonlySet<string>;
  /** What is linked, but not there. */
  readonly missing: ReadonlySet<string>;
  /** What was there, and was gone with all that is below it before the end. */
  readonly vanished: ReadonlySet<string>;
  /** Addresses that lead out of the configuration of this appliance; they were not followed. */
  readonly refused: readonly string[];
}

interface PendingLink {
  readonly path: string;
  readonly parent: string | undefined;
}

/** Reads everything below a place: follows every link once, on all connections. Errors: the first of a read, telling which. */
export function crawl(options: CrawlOptions, call: OperationContext): Promise<CrawlResult> {
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
  /** The next to follow is the last that was found: what is open stays few. */
  readonly #pending: PendingLink[] = [];
  /** Links that were gone when they were followed, by where they stood. */
  readonly #missingByParent = new Map<string, Set<string>>();
  /** Resources that are read. */
  #readingCount = 0;
  /** Resources that were read and are taken: a disk that is slow for a moment must not leave connections idle. */
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

  /** Lists with links that are gone are read again; what they link still is followed once more, and so is what is new. */
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
      throw new GatewayError(
        'LIMIT',
        safeMessage`The configuration has more than ${MAX_RESOURCES} resources. Give a path to a part of it.`,
      );
    }
    this.#visited.add(link.path);
    this.#pending.push(link);
  }

  /** As many again as there are connections wait for one: one that is free has something to do at once. */
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
        // Nothing of it goes on behind the back of whoever hears of the failure.
        if (failure === undefined) resolve();
        else reject(asGatewayError(failure));
      };
      next();
    });
  }

  async #read({ path, parent }: PendingLink, onResource: (path: string, resource: JsonObject) => void): Promise<void> {
    let document: JsonObject;
    try {
      document = await this.#call.read({ method: 'GET', path: path });
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
    if (Object.keys(resource).length > 0 && !isEmptyCollection(path, resource))
      onResource(path, this.#options.ignore.filterResource(path, resource));
  }

  /** Names without links become those of resources, where the first of them is one. */
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
      await this.#call.read({ method: 'GET', path: path });
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
      const extra = { ...error.details.extra, path: path };
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

  /** Undefined for what is not to be followed; it is told, the first thousand. */
  #resolve(href: string): string | undefined {
    try {
      const path = normalizePath(href, this.#prefix);
      if (href.includes(CONFIGURATION_ROOT) && splitResourcePath(path).length <= MAX_PATH_DEPTH) return path;
    } catch {
      // Told below.
    }
    if (this.refused.length < 1000 && !this.refused.includes(href)) this.refused.push(href);
    return undefined;
  }
}

/** The list of what is below this very place, with nothing in it. */
function isEmptyCollection(path: string, resource: JsonObject): boolean {
  const [key = '', second] = Object.keys(resource);
  return second === undefined && isEmptyResource(resource) && splitResourcePath(path).at(-1) === encodeSegment(key);
}

/** Releases answer what is not there by 404, or by an error inside of a 200. */
export function isNotFoundError({ requestCode, code, details }: GatewayError): boolean {
  return requestCode === 'NOT_FOUND' || (code === 'APPLIANCE_ERROR' && details.status === 200 && reportsNotFound(details.result?.errors));
}

function reportsNotFound(errors: readonly { message: string }[] = []): boolean {
  return errors.some(({ message }) => /does not exist|not found/i.test(message.slice(0, 1000)));
}

/** What an envelope tells of a crawl, where there is something to tell. */
export function addCrawlToEnvelope({ forbidden, missing, refused }: CrawlResult, call: OperationContext): void {
  call.addToEnvelope({
    forbidden: [...forbidden].sort(),
    ...(missing.size > 0 && { missing: [...missing].sort() }),
    ...(refused.length > 0 && { refused }),
  });
}
