import { Base64Check } from './base64';
import { XmlCheck } from './xml';
import type { XmlEvents } from './xml-bytes';
import type { ZipEntry } from './zip';

export type ConfigurationKind = 'xml' | 'binary';

/** How far the check of a content went (`envelope.verified`). */
export type VerificationLevel = 'xml' | 'zip' | 'base64';

export interface ContentCheckResult {
  readonly verified: VerificationLevel;
  /** Directory of the ZIP in a binary configuration. */
  readonly entries?: ZipEntry[] | undefined;
}

/** Checks a configuration while it streams. `write` and `end` throw `Malformed` as soon as it cannot be one. */
export interface ContentCheck {
  write(batch: Buffer): void;
  end(): ContentCheckResult;
}

/**
 * `events` are told what is in an XML document. `zipOnly`: a binary configuration that was exported without a password is always a ZIP
 * (field-notes.md, "Binary configuration"), one with a password may be anything.
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
