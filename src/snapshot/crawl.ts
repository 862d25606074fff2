import { namesIn, type Names } from '../change/entries';
import { asGatewayError, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { CONFIGURATION, encodeSegment } from '../model/path';
import { sentence } from '../model/sentence';
import type { Ignore } from './ignore';
import { DEEPEST, isWithin, placeOf, segmentsOf } from './place';
import { isBare, partsOf } from './resource';

/** More than any appliance has: links that lead on and on lead nowhere. */
const MOST_RESOURCES = 500_000;
/** So many wait to be taken for each connection; beyond them, reading waits. */
const MOST_TAKEN = 8;
/** How often a list is read again because a link of it was gone. */
const MOST_ROUNDS = 3;
/** Served by policy appliances, and not linked from the root (appliance-api.md, "Configuration root"). */
const UNLINKED = `${CONFIGURATION}/uac`;

export interface CrawlOptions {
  /** Where it begins; nothing outside of it is read. */
  readonly root: string;
  readonly ignore: Ignore;
  /** Gets each resource that holds more than links, once or, where it was read again, once more; `listed` is what it links. */
  readonly take: (place: string, resource: JsonObject) => Promise<void>;
  /** Gets what one resource links, before any of it is read. */
  readonly listed?: (places: readonly string[]) => void;
}

/** What a crawl came by beside the resources. */
export interface Crawled {
  /** What the account may not read. */
  readonly forbidden: ReadonlySet<string>;
  /** What is linked, but not there. */
  readonly missing: ReadonlySet<string>;
  /** What was there, and was gone with all that is below it before the end. */
  readonly vanished: ReadonlySet<string>;
  /** Addresses that lead out of the configuration of this appliance; they were not followed. */
  readonly refused: readonly string[];
}

interface Link {
  readonly place: string;
  readonly parent: string | undefined;
}

/** Reads everything below a place: follows every link once, on all connections. Errors: the first of a read, telling which. */
export function crawl(options: CrawlOptions, call: Call): Promise<Crawled> {
  return new Crawl(options, call).run();
}

class Crawl implements Crawled {
  readonly forbidden = new Set<string>();
  readonly missing = new Set<string>();
  readonly vanished = new Set<string>();
  readonly refused: string[] = [];
  readonly #options: CrawlOptions;
  readonly #call: Call;
  readonly #prefix: string;
  readonly #seen = new Set<string>();
  /** The next to follow is the last that was found: what is open stays few. */
  readonly #open: Link[] = [];
  /** Links that were gone when they were followed, by where they stood. */
  readonly #gone = new Map<string, Set<string>>();
  /** Resources that are read. */
  #active = 0;
  /** Resources that were read and are taken: a disk that is slow for a moment must not leave connections idle. */
  #taken = 0;

  constructor(options: CrawlOptions, call: Call) {
    this.#options = options;
    this.#call = call;
    this.#prefix = call.settings.prefix;
  }

  async run(): Promise<Crawled> {
    const { root } = this.#options;
    this.#found({ place: root, parent: undefined });
    await this.#follow();
    if (root === CONFIGURATION && !this.#seen.has(UNLINKED)) this.#found({ place: UNLINKED, parent: undefined });
    await this.#follow();
    for (let round = 1; this.#gone.size > 0 && round <= MOST_ROUNDS; round++) await this.#again();
    for (const places of this.#gone.values()) for (const place of places) this.missing.add(place);
    return this;
  }

  /** Lists with links that are gone are read again; what they link still is followed once more, and so is what is new. */
  async #again(): Promise<void> {
    const lists = [...this.#gone];
    this.#gone.clear();
    for (const [list, places] of lists) {
      for (const place of places) this.#seen.delete(place);
      this.#open.push({ place: list, parent: undefined });
    }
    await this.#follow();
  }

  #found(link: Link): void {
    if (this.#seen.has(link.place) || this.#options.ignore.place(link.place)) return;
    if (this.#seen.size >= MOST_RESOURCES) {
      throw new GatewayError('LIMIT', sentence`The configuration has more than ${MOST_RESOURCES} resources. Give a path to a part of it.`);
    }
    this.#seen.add(link.place);
    this.#open.push(link);
  }

  /** As many again as there are connections wait for one: one that is free has something to do at once. */
  #follow(): Promise<void> {
    const { connections } = this.#call.settings;
    return new Promise((resolve, reject) => {
      let failure: unknown;
      const fail = (error: unknown): void => void (failure ??= error);
      const take = (place: string, resource: JsonObject): void => {
        this.#taken++;
        const over = (): void => {
          this.#taken--;
          next();
        };
        void this.#options.take(place, resource).catch(fail).finally(over);
      };
      const next = (): void => {
        while (failure === undefined && this.#active < 2 * connections && this.#taken < MOST_TAKEN * connections) {
          const link = this.#open.pop();
          if (!link) break;
          this.#active++;
          const over = (): void => {
            this.#active--;
            next();
          };
          void this.#read(link, take).catch(fail).finally(over);
        }
        if (this.#active + this.#taken > 0) return;
        // Nothing of it goes on behind the back of whoever hears of the failure.
        if (failure === undefined) resolve();
        else reject(asGatewayError(failure));
      };
      next();
    });
  }

  async #read({ place, parent }: Link, take: (place: string, resource: JsonObject) => void): Promise<void> {
    let document: JsonObject;
    try {
      document = await this.#call.read({ method: 'GET', path: place });
    } catch (thrown) {
      this.#unread(place, parent, asGatewayError(thrown));
      return;
    }
    const places = new Set<string>();
    const { resource: own, hrefs } = partsOf(document, (href) => this.#leads(href));
    const { resource, entries } = await this.#withEntries(place, own);
    for (const entry of entries) places.add(entry);
    for (const href of hrefs) {
      const to = this.#resolve(href);
      if (to !== undefined && to !== place && isWithin(to, this.#options.root)) places.add(to);
    }
    this.#options.listed?.([...places]);
    for (const to of places) this.#found({ place: to, parent: place });
    if (Object.keys(resource).length > 0 && !isEmptyCollection(place, resource))
      take(place, this.#options.ignore.resource(place, resource));
  }

  /** Names without links become those of resources, where the first of them is one. */
  async #withEntries(place: string, own: JsonObject): Promise<{ resource: JsonObject; entries: readonly string[] }> {
    const found: Names[] = [];
    for (const names of namesIn(place, own)) if (await this.#isThere(names.places[0] ?? '')) found.push(names);
    if (found.length === 0) return { resource: own, entries: [] };
    const keys = new Set(found.map(({ key }) => key));
    const rest = Object.entries(own).filter(([key]) => !keys.has(key));
    return { resource: Object.fromEntries(rest), entries: found.flatMap(({ places }) => places) };
  }

  async #isThere(place: string): Promise<boolean> {
    if (this.#options.ignore.place(place)) return true;
    try {
      await this.#call.read({ method: 'GET', path: place });
      return true;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.answered === 'FORBIDDEN') return true;
      if (isMissing(error) || error.answered === 'INVALID_REQUEST' || error.answered === 'REJECTED') return false;
      throw error;
    }
  }

  #unread(place: string, parent: string | undefined, error: GatewayError): void {
    const isStart = place === this.#options.root;
    if (isMissing(error) && parent !== undefined) {
      const places = this.#gone.get(parent) ?? new Set();
      this.#gone.set(parent, places.add(place));
    } else if (isMissing(error) && (!isStart || this.#seen.size > 1)) this.vanished.add(place);
    else if (error.answered === 'FORBIDDEN' && !isStart) this.forbidden.add(place);
    else if (error.code === 'ABORTED') throw error;
    else {
      const extra = { ...error.details.extra, path: place };
      throw new GatewayError(error.code, sentence`${place} could not be read: ${error}`, { ...error.details, extra });
    }
  }

  #leads(href: string): boolean {
    try {
      return href.includes(`${CONFIGURATION}/`) && placeOf(href, this.#prefix) !== CONFIGURATION;
    } catch {
      return false;
    }
  }

  /** Undefined for what is not to be followed; it is told, the first thousand. */
  #resolve(href: string): string | undefined {
    try {
      const place = placeOf(href, this.#prefix);
      if (href.includes(CONFIGURATION) && segmentsOf(place).length <= DEEPEST) return place;
    } catch {
      // Told below.
    }
    if (this.refused.length < 1000 && !this.refused.includes(href)) this.refused.push(href);
    return undefined;
  }
}

/** The list of what is below this very place, with nothing in it. */
function isEmptyCollection(place: string, resource: JsonObject): boolean {
  const [key = '', second] = Object.keys(resource);
  return second === undefined && isBare(resource) && segmentsOf(place).at(-1) === encodeSegment(key);
}

/** Releases answer what is not there by 404, or by an error inside of a 200. */
export function isMissing({ answered, code, details }: GatewayError): boolean {
  return answered === 'NOT_FOUND' || (code === 'APPLIANCE_ERROR' && details.status === 200 && saysMissing(details.result?.errors));
}

function saysMissing(errors: readonly { message: string }[] = []): boolean {
  return errors.some(({ message }) => /does not exist|not found/i.test(message.slice(0, 1000)));
}

/** What an envelope tells of a crawl, where there is something to tell. */
export function noteCrawled({ forbidden, missing, refused }: Crawled, call: Call): void {
  call.note({
    forbidden: [...forbidden].sort(),
    ...(missing.size > 0 && { missing: [...missing].sort() }),
    ...(refused.length > 0 && { refused }),
  });
}
