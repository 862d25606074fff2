import type { JsonObject } from '../model/json';

/** `[{ name, href }]` of a resource's hyperlinks and of the entries of its collections (appliance-api.md, "Hyperlink object"). */
export function links(document: JsonObject): { name: string; href: string }[] {
  return Object.entries(document).flatMap(([key, value]) => {
    const items: unknown[] = Array.isArray(value) ? value : [value];
    return items.flatMap((item) => {
      const { href, name } = (item ?? {}) as { href?: unknown; name?: unknown };
      return typeof href === 'string' ? [{ name: typeof name === 'string' ? name : key, href }] : [];
    });
  });
}
