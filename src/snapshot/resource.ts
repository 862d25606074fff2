import { isHyperlink, withoutSecrets } from '../change/compare';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';

const DEEPEST = 200;

/** What a document of the appliance is made of. */
export interface Parts {
  /** All but the hyperlinks, as it came. */
  readonly resource: JsonObject;
  readonly hrefs: readonly string[];
}

/**
 * `leads`: whether an address that stands among other fields is that of a resource; one that is not is a field like any other.
 * Errors: `BAD_RESPONSE` for a document that is nested deeper than any.
 */
export function partsOf(document: JsonObject, leads: (href: string) => boolean): Parts {
  const parts = new Sorter(leads);
  return { resource: parts.object(document, 0), hrefs: parts.hrefs };
}

class Sorter {
  readonly hrefs: string[] = [];
  readonly #leads: (href: string) => boolean;

  constructor(leads: (href: string) => boolean) {
    this.#leads = leads;
  }

  object(of: JsonObject, depth: number): JsonObject {
    refuseDeeper(depth);
    const kept: [string, unknown][] = [];
    for (const [key, value] of Object.entries(of)) {
      if (this.#isTaken(key, value)) continue;
      const rest = this.#value(value, depth + 1);
      // A part that only links is no part of the resource.
      if (!isEmpty(rest) || isEmpty(value)) kept.push([key, rest]);
    }
    return Object.fromEntries(kept);
  }

  #value(value: unknown, depth: number): unknown {
    if (isObject(value)) return this.object(value, depth);
    if (!Array.isArray(value)) return value;
    refuseDeeper(depth);
    return value.filter((item: unknown) => !this.#isTaken('', item)).map((item: unknown) => this.#value(item, depth + 1));
  }

  #isTaken(key: string, value: unknown): boolean {
    const href = isLink(value) ? value.href : key === 'href' && typeof value === 'string' && this.#leads(value) ? value : undefined;
    if (href !== undefined) this.hrefs.push(href);
    return href !== undefined;
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function refuseDeeper(depth: number): void {
  if (depth > DEEPEST) throw new GatewayError('BAD_RESPONSE', 'A resource is nested deeper than 200 levels, which is more than any has.');
}

/** Entries of users have their name under another key (field-notes.md, "Local users"). */
function isLink(value: unknown): value is { readonly href: string } {
  if (isHyperlink(value)) return true;
  return isObject(value) && typeof value['href'] === 'string' && typeof value['username'] === 'string' && Object.keys(value).length === 2;
}

/** A resource as it is kept: keys in order, secrets replaced. */
export function kept(resource: JsonObject): JsonObject {
  return sorted(withoutSecrets(resource)) as JsonObject;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/** Whether nothing stands in it: such a resource is no other than one that is not there. */
export function isBare(resource: JsonObject): boolean {
  return Object.values(resource).every((value) => Array.isArray(value) && value.length === 0);
}

/** What of a resource makes a file: text that differs line by line. */
export function textOf(resource: JsonObject): string {
  return `${JSON.stringify(resource, null, 2)}\n`;
}
