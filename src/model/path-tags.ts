import { createRequire } from 'node:module';
import type mustache from 'mustache';
import { badInput } from './error';
import { describeValueKind } from './json';
import { percentEncode } from './path';
import { safeMessage, trusted } from './safe-message';

/**
 * Expands the `{{tags}}` in a path from the dialog: each value becomes one encoded raw segment (contract, "Paths of the configuration
 * tree"). Only plain tags are allowed, because the output of a section or an unescaped tag could change the path. Errors: `BAD_INPUT` for
 * other tags and for a value that is not text or a number.
 */
export function expandPathTags(template: string, view: object): string {
  for (const [type, name] of parseTemplate(template)) {
    if (type === 'text') continue;
    if (type !== 'name')
      throw badInput(
        safeMessage`path has the tag {{${trusted(tagSign(type))}${trusted(name)}}}: only plain tags like {{payload.name}} are possible.`,
      );
    const value: unknown = new (loadMustache().Context)(view).lookup(name);
    if (value === undefined || value === null || value === '')
      throw badInput(safeMessage`path needs {{${trusted(name)}}}, but the message has nothing there.`);
    if (typeof value !== 'string' && typeof value !== 'number')
      throw badInput(safeMessage`path needs text in {{${trusted(name)}}}, not ${trusted(describeValueKind(value))}.`);
  }
  // `toConfigurationPath` keeps valid escapes, so it does not encode these values again. It also checks for dots.
  return loadMustache().render(template, view, {}, { escape: (value: unknown) => percentEncode(String(value)) });
}

/** Most flows have no path with tags, so the module is loaded at the first one. */
function loadMustache(): typeof mustache {
  return createRequire(__filename)('mustache') as typeof mustache;
}

function parseTemplate(template: string): [string, string][] {
  try {
    return loadMustache()
      .parse(template)
      .map((token): [string, string] => [token[0], token[1]]);
  } catch (error) {
    throw badInput(safeMessage`path has a tag that cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function tagSign(type: string): string {
  return type === '!' || type === '=' ? '' : type;
}
