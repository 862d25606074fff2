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
