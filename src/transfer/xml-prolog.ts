import { Malformed } from './malformed';

const DOCTYPE = /^<!DOCTYPE(?:[^<>[\]"']|"[^"]*"|'[^']*')*(\[(?:[^\]"'<]|"[^"]*"|'[^']*'|<!--[\s\S]*?-->|<(?!!--))*\]\s*)?>/;

/** A document type declaration at the beginning of `text`; `declares`: it may define entities. Undefined: it is not all there yet. */
export function readDoctype(text: string): { length: number; declares: boolean } | undefined {
  if (/^<!DOCTYPE\s+html/i.test(text)) throw new Malformed('it is a page of HTML');
  const match = DOCTYPE.exec(text);
  return match ? { length: match[0].length, declares: match[1] !== undefined } : undefined;
}

/** Whether an XML declaration, or none of its words, says that the document is UTF-8. */
export function isDeclaredUtf8(declaration: string): boolean {
  const encoding = /\sencoding\s*=\s*["']([^"']+)/.exec(declaration)?.[1]?.toLowerCase() ?? 'utf-8';
  return encoding === 'utf-8' || encoding === 'us-ascii' || encoding === 'ascii';
}

/** Whether `&#…;` stands for a character that XML has; a named reference is not looked at. */
export function isCharacter(reference: string): boolean {
  const [, hexadecimal, decimal] = /^&#(?:x([0-9a-f]+)|([0-9]+));$/i.exec(reference) ?? [];
  if (hexadecimal === undefined && decimal === undefined) return true;
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d;
  return code <= 0xd7ff || (code >= 0xe000 && code <= 0x10ffff && code !== 0xfffe && code !== 0xffff);
}
