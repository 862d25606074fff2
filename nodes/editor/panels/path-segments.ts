/** Returns the message property of a tag. */
export const toProperty = (tag: string): string => `msg.${tag.replace(/^\{\{\s*|\s*\}\}$/g, '')}`;

/** Names the tag of the last segment `name`, and the others after their collections, without duplicates. */
export function createTemplateTag(parts: readonly string[], index: number): string {
  const collection = (parts[index - 1] ?? '').replace(/[^a-z0-9]+(.)?/gi, (_, next: string = '') => next.toUpperCase());
  const name = index === parts.length - 1 || !/^[a-z]/i.test(collection) ? 'name' : collection;
  const tags = [name, ...parts.map((_, at) => `${name}${at + 2}`)].map((one) => `{{payload.${one}}}`);
  return tags.find((tag) => !parts.includes(tag)) ?? '{{payload.name}}';
}

/** Decodes a segment, unless the decoded name has characters that paths must encode. */
export function toPath(href: string | null, name: string, parent: string, root: string): string {
  if (href === root) return '';
  const at = href?.indexOf(`${root}/`) ?? -1;
  if (href === null || at < 0) return `${parent}${parent === '' ? '' : '/'}${encodeURIComponent(name)}`;
  return href
    .slice(at + root.length + 1)
    .split('/')
    .map(toReadableSegment)
    .join('/');
}

function toReadableSegment(segment: string): string {
  try {
    const name = decodeURIComponent(segment);
    return /[/%?#\\{}]/.test(name) ? segment : name;
  } catch {
    return segment;
  }
}
