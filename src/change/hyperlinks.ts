import { isObject } from '../model/json';
import { CONFIGURATION_ROOT } from '../model/path';

/** Returns whether the value is a hyperlink, with or without a name (appliance-api.md, "Hyperlink object"). */
export function isHyperlink(value: unknown): boolean {
  return isObject(value) && typeof value['href'] === 'string' && Object.keys(value).every((key) => key === 'href' || key === 'name');
}

/** Returns whether the value is a hyperlink or a non-empty array of hyperlinks. */
export function containsOnlyLinks(value: unknown): boolean {
  return isHyperlink(value) || (Array.isArray(value) && value.length > 0 && value.every(isHyperlink));
}

/** Returns the configuration path of a hyperlink. An href may start with the path of the base URL. */
export function readLinkPath(value: unknown): string | undefined {
  if (!isObject(value) || typeof value['href'] !== 'string') return undefined;
  const start = value['href'].indexOf(`${CONFIGURATION_ROOT}/`);
  return start < 0 ? undefined : value['href'].slice(start).replace(/\/$/, '');
}
