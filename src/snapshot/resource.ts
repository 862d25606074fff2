import { maskResourceSecrets } from '../change/compare';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { isHyperlink } from '../change/hyperlinks';

const MAX_DEPTH = 200;

/** The parts of a document from the appliance. */
interface DocumentParts {
  /** Everything except hyperlinks. */
  readonly resource: JsonObject;
  readonly hrefs: readonly string[];
}

/**
 * Separates fields from links. `isResourceLink` decides whether a bare address is a link or a plain field. Throws `BAD_RESPONSE` if the
 * document is nested too deep.
 */
export function separateLinks(document: JsonObject, isResourceLink: (href: string) => boolean): DocumentParts {
  const separator = new LinkSeparator(isResourceLink);
  return { resource: separator.separate(document, 0), hrefs: separator.hrefs };
}

class LinkSeparator {
  readonly hrefs: string[] = [];
  readonly #isResourceLink: (href: string) => boolean;

  constructor(isResourceLink: (href: string) => boolean) {
    this.#isResourceLink = isResourceLink;
  }

  separate(source: JsonObject, depth: number): JsonObject {
    assertMessageDepth(depth);
    const pairs: [string, unknown][] = [];
    for (const [key, value] of Object.entries(source)) {
      if (this.#collectLink(key, value)) continue;
      const rest = this.#separateValue(value, depth + 1);
      // A part that contains only links is not part of the resource.
      if (!isEmpty(rest) || isEmpty(value)) pairs.push([key, rest]);
    }
    return Object.fromEntries(pairs);
  }

  #separateValue(value: unknown, depth: number): unknown {
    if (isObject(value)) return this.separate(value, depth);
    if (!Array.isArray(value)) return value;
    assertMessageDepth(depth);
    return value.filter((item: unknown) => !this.#collectLink('', item)).map((item: unknown) => this.#separateValue(item, depth + 1));
  }

  #collectLink(key: string, value: unknown): boolean {
    const href = isLink(value)
      ? value.href
      : key === 'href' && typeof value === 'string' && this.#isResourceLink(value)
        ? value
        : undefined;
    if (href !== undefined) this.hrefs.push(href);
    return href !== undefined;
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function assertMessageDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new GatewayError('BAD_RESPONSE', 'A resource is nested deeper than 200 levels.');
}

/** Whether a value is a link. Entries of users have their name under another key (field-notes.md, "Local users"). */
function isLink(value: unknown): value is { readonly href: string } {
  if (isHyperlink(value)) return true;
  return isObject(value) && typeof value['href'] === 'string' && typeof value['username'] === 'string' && Object.keys(value).length === 2;
}

/** Returns the stored form of a resource: sorted keys, masked secrets. */
export function canonicalizeResource(resource: JsonObject): JsonObject {
  return sortKeys(maskResourceSecrets(resource)) as JsonObject;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key])]));
}

/** Returns whether a resource has no content. Such a resource equals a missing one. */
export function isEmptyResource(resource: JsonObject): boolean {
  return Object.values(resource).every((value) => Array.isArray(value) && value.length === 0);
}

/** Serializes a resource so that Git can compare it line by line. */
export function toResourceFileText(resource: JsonObject): string {
  return `${JSON.stringify(resource, null, 2)}\n`;
}
