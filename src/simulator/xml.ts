/** A small XML reader and writer for configuration documents: elements, attributes, text, CDATA. A DOCTYPE is refused. */
export interface XmlElement {
  name: string;
  attributes: Map<string, string>;
  children: XmlElement[];
  text: string;
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export function escapeXml(text: string): string {
  // A carriage return would come back as a line feed.
  return text.replace(/[&<>"\r]/g, (c) => (c === '&' ? '&amp;' : c === '<' ? '&lt;' : c === '>' ? '&gt;' : c === '"' ? '&quot;' : '&#13;'));
}

function unescapeXml(text: string): string {
  return text.replace(/&([^;&\s]*);?/g, (whole, name: string) => {
    const code = /^#x([0-9a-f]+)$/i.exec(name)?.[1];
    const decimal = /^#(\d+)$/.exec(name)?.[1];
    if (code !== undefined || decimal !== undefined) return String.fromCodePoint(code === undefined ? Number(decimal) : parseInt(code, 16));
    const known = ENTITIES[name];
    if (known === undefined || !whole.endsWith(';')) throw new Error(`unknown entity ${whole}`);
    return known;
  });
}

function parseAttributes(source: string): Map<string, string> {
  const attributes = new Map<string, string>();
  const rest = source.replace(/\s+([^\s=<>/]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/g, (_, name: string, double?: string, single?: string) => {
    attributes.set(name, unescapeXml(double ?? single ?? ''));
    return '';
  });
  if (rest.trim() !== '') throw new Error(`malformed attributes: ${rest.trim()}`);
  return attributes;
}

const TOKEN =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<\/([^\s<>/]+)\s*>|<([^\s<>/!?]+)((?:[^<>"']|"[^"]*"|'[^']*')*?)(\/?)>|([^<]+)|</g;

/** The root element of a document; throws a short reason when it is not well-formed. */
export function parseXml(source: string): XmlElement {
  const top: XmlElement = { name: '', attributes: new Map(), children: [], text: '' };
  const openElements: XmlElement[] = [top];
  for (const [token, cdata, closing, opening, attributes = '', empty, text] of source.replace(/^\uFEFF/, '').matchAll(TOKEN)) {
    const current = openElements.at(-1) ?? top;
    if (text !== undefined) current.text += unescapeXml(text);
    else if (cdata !== undefined) current.text += cdata;
    else if (closing !== undefined) {
      if (openElements.length === 1 || current.name !== closing) throw new Error(`unexpected </${closing}>`);
      openElements.pop();
    } else if (opening !== undefined) {
      const element: XmlElement = { name: opening, attributes: parseAttributes(attributes), children: [], text: '' };
      current.children.push(element);
      if (empty === '') openElements.push(element);
    } else if (token === '<') throw new Error('a tag that is not closed, or a DOCTYPE');
  }
  const [root] = top.children;
  if (openElements.length !== 1 || top.children.length !== 1 || !root || top.text.trim() !== '')
    throw new Error('the document ends early or has more than one root');
  return root;
}
