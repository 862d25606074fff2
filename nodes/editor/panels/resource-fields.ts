/** One field of a resource as the form shows it. */
export interface ResourceField {
  /** Names from the resource to the field. */
  readonly names: readonly string[];
  readonly kind: 'text' | 'number' | 'boolean' | 'list' | 'object' | 'secret';
  readonly value: unknown;
  /** Fields of an object. */
  readonly fields: readonly ResourceField[];
}

const MASKS = ['••••', '***'];
const MAX_DEPTH = 20;

/** Describes the fields of a resource without links, which have their own paths. */
export function listResourceFields(resource: unknown, parents: readonly string[] = []): ResourceField[] {
  if (!isRecord(resource) || parents.length > MAX_DEPTH) return [];
  return Object.entries(resource).flatMap(([name, value]): ResourceField[] => {
    if (isLink(value) || (Array.isArray(value) && value.length > 0 && value.every(isLink))) return [];
    const names = [...parents, name];
    const fields = isRecord(value) ? listResourceFields(value, names) : [];
    // An object of links only has nothing to show.
    if (isRecord(value) && fields.length === 0 && Object.keys(value).length > 0) return [];
    return [{ names, kind: toKind(value), value, fields }];
  });
}

function toKind(value: unknown): ResourceField['kind'] {
  if (Array.isArray(value)) return 'list';
  if (isRecord(value)) return 'object';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean' || (typeof value === 'string' && /^(true|false)$/i.test(value))) return 'boolean';
  return MASKS.includes(String(value)) ? 'secret' : 'text';
}

/** Returns the entered text as a value of the field. Undefined: the text does not fit. */
export function parseFieldText({ kind, value }: ResourceField, text: string): unknown {
  if (kind === 'number') return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (kind === 'boolean') return typeof value === 'boolean' ? text === 'true' : text;
  if (kind !== 'list' && kind !== 'object') return text;
  try {
    const parsed = JSON.parse(text) as unknown;
    return Array.isArray(parsed) === (kind === 'list') && typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the text that the form shows for a field. */
export function toFieldText({ kind, value }: ResourceField): string {
  if (kind === 'secret' || value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Builds the body of a change from the changed fields. */
export function toChangeBody(changes: Iterable<readonly [names: readonly string[], value: unknown]>): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [names, value] of changes) {
    let parent = body;
    for (const name of names.slice(0, -1)) {
      const child = Object.hasOwn(parent, name) && isRecord(parent[name]) ? parent[name] : {};
      setOwnProperty(parent, name, child);
      parent = child;
    }
    setOwnProperty(parent, names.at(-1) ?? '', value);
  }
  return body;
}

/** Finds a text in a resource. Returns the first match: the path, or the name and value of a field. Undefined if nothing matches. */
export function findInResource(path: string, resource: unknown, search: string): string | undefined {
  const wanted = search.toLowerCase();
  if (path.toLowerCase().includes(wanted)) return '';
  const visit = (fields: readonly ResourceField[]): string | undefined => {
    for (const field of fields) {
      const text = field.kind === 'object' ? '' : toFieldText(field);
      if (`${field.names.at(-1) ?? ''}\n${text}`.toLowerCase().includes(wanted))
        return `${field.names.join('.')}${text === '' ? '' : `: ${text}`}`;
      const found = visit(field.fields);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return visit(listResourceFields(resource));
}

function setOwnProperty(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

const isLink = (value: unknown): boolean => isRecord(value) && 'href' in value;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
