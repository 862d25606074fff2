import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Json, JsonObject } from './body-shape';
import { Refusal } from './reply';
import { Collection, Resource } from './tree';
import { type XmlElement, escapeXml, parseXml } from './xml';

/**
 * The configuration as an XML document and back. Values that are not strings say so in an attribute, so that what is
 * imported is then what is exported; secrets are encrypted with the password of the export.
 */
function secretKey(password: string): Buffer {
  return createHash('sha256').update(`simulator:${password}`).digest();
}

function encrypt(text: string, password: string): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', secretKey(password), iv);
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

function decrypt(text: string, password: string): string {
  const bytes = Buffer.from(text, 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', secretKey(password), bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(-16));
    return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    throw new Refusal(422, 'The password of the configuration is wrong.');
  }
}

function writeValue(name: string, value: Json, attributes: string): string {
  if (Array.isArray(value))
    return value.length === 0 ? `<${name} list="empty"/>` : value.map((item) => writeValue(name, item, ' list="item"')).join('');
  if (value === null) return `<${name}${attributes} type="null"/>`;
  if (typeof value === 'object') {
    const inner = Object.entries(value).map(([key, item]) => writeValue(key, item, ''));
    return `<${name}${attributes} type="object">${inner.join('')}</${name}>`;
  }
  const type = typeof value === 'string' ? '' : ` type="${typeof value}"`;
  return `<${name}${attributes}${type}>${escapeXml(String(value))}</${name}>`;
}

function writeResource(name: string, resource: Resource, password: string): string {
  let inner = '';
  for (const [field, value] of resource.fields()) {
    const hidden = resource.isSecret(field) && typeof value === 'string';
    inner += hidden ? writeValue(field, encrypt(value, password), ' type="secret"') : writeValue(field, value, '');
  }
  for (const [child, node] of resource.children) {
    if (node instanceof Resource) inner += writeResource(child, node, password);
    else for (const item of node.items.values()) inner += writeResource(child, item, password);
  }
  return `<${name}>${inner}</${name}>\n`;
}

export function writeConfigurationXml(root: Resource, sections: readonly string[], namespace: string, password: string): string {
  let inner = '';
  for (const section of sections) {
    const node = root.children.get(section);
    if (node instanceof Resource) inner += writeResource(section, node, password);
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n<configuration xmlns="${escapeXml(namespace)}">\n${inner}</configuration>\n`;
}

function readValue(element: XmlElement, password: string): Json {
  switch (element.attributes.get('type') ?? 'string') {
    case 'number':
      return Number(element.text);
    case 'boolean':
      return element.text === 'true';
    case 'null':
      return null;
    case 'secret':
      return decrypt(element.text, password);
    case 'object':
      return readValues(element.children, password);
    default:
      return element.text;
  }
}

function readValues(elements: readonly XmlElement[], password: string): JsonObject {
  const values: JsonObject = {};
  for (const element of elements) {
    const kind = element.attributes.get('list');
    const existing = values[element.name];
    if (kind === 'empty') values[element.name] = [];
    else if (kind === undefined) values[element.name] = readValue(element, password);
    else if (Array.isArray(existing)) existing.push(readValue(element, password));
    else values[element.name] = [readValue(element, password)];
  }
  return values;
}

/** Checks one element against the tree and returns a function that stores it. The document replaces collections as a whole. */
function planElement(resource: Resource, element: XmlElement, password: string, skip: readonly string[]): () => void {
  const commits: (() => void)[] = [];
  const own = element.children.filter((child) => !resource.children.has(child.name));
  const values = readValues(own, password);
  const wrong = resource.findProblems(values, true);
  if (wrong.length > 0) throw new Refusal(422, `Validation failed in ${element.name}: ${wrong.join('; ')}`);
  for (const [name, child] of resource.children) {
    const matching = element.children.filter((candidate) => candidate.name === name);
    if (child instanceof Collection) commits.push(planItems(child, matching, password));
    else if (matching[0] && !skip.includes(name)) commits.push(planElement(child, matching[0], password, []));
  }
  return () => {
    for (const [name, value] of Object.entries(values)) resource.values.set(name, value);
    for (const commit of commits) commit();
  };
}

function planItems(collection: Collection, elements: readonly XmlElement[], password: string): () => void {
  const items = elements.map((element): [string, Resource, () => void] => {
    const plain = element.children.filter((child) => child.attributes.get('type') === undefined && child.children.length === 0);
    const key = plain.find((child) => child.name === collection.keyField)?.text ?? '';
    if (key === '') throw new Refusal(422, `Validation failed: an element ${element.name} has no ${collection.keyField}`);
    const item = collection.createItem(readValues(plain, password));
    return [key, item, planElement(item, element, password, [])];
  });
  return () => {
    collection.items.clear();
    for (const [key, item, commit] of items) {
      commit();
      collection.items.set(key, item);
    }
  };
}

/**
 * Reads a document into the tree, all of it or nothing; sections that it does not hold stay as they are. `skip` names
 * parts of a section that are left alone (the network, in an import of the kind `normal`).
 */
export function importConfigurationXml(root: Resource, source: string, password: string, skip: readonly string[] = []): void {
  let document: XmlElement;
  try {
    document = parseXml(source);
  } catch (error) {
    throw new Refusal(422, `The file is not an XML configuration: ${error instanceof Error ? error.message : ''}`);
  }
  if (document.name !== 'configuration') throw new Refusal(422, 'The file is not an XML configuration: its root is not <configuration>.');
  const commits = document.children.map((section) => {
    const node = root.children.get(section.name);
    if (!(node instanceof Resource)) throw new Refusal(422, `Validation failed: there is no section ${section.name}`);
    return planElement(node, section, password, skip);
  });
  for (const commit of commits) commit();
}
