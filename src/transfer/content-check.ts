import { Base64Check } from './base64';
import { XmlCheck } from './xml';
import type { XmlEvents } from './xml-bytes';
import type { ZipEntry } from './zip';

export type ConfigurationKind = 'xml' | 'binary';

/** The check that the content passed (`envelope.verified`). */
export type VerificationLevel = 'xml' | 'zip' | 'base64';

export interface ContentCheckResult {
  readonly verified: VerificationLevel;
  /** Directory of the ZIP in a binary configuration. */
  readonly entries?: ZipEntry[] | undefined;
}

/** Checks a streamed configuration. `write` and `end` throw `MalformedContentError` as soon as the content is invalid. */
export interface ContentCheck {
  write(batch: Buffer): void;
  end(): ContentCheckResult;
}

/**
 * `events` receives the contents of an XML document. `zipOnly` applies to binary exports without a password, which are always ZIP files
 * (field-notes.md, "Binary configuration").
 */
export function createContentCheck(
  kind: ConfigurationKind,
  { events, zipOnly }: { events?: XmlEvents; zipOnly?: boolean } = {},
): ContentCheck {
  if (kind === 'binary') return new Base64Check(zipOnly);
  const check = new XmlCheck(events);
  return {
    write: (batch) => check.write(batch),
    end: () => {
      check.end();
      return { verified: 'xml' };
    },
  };
}
