import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildTable, type Texts } from '../../scripts/editor/table.mjs';
import { root } from '../../scripts/tools.mjs';
import { RUNTIME_TEXTS } from '../../nodes/common/runtime-texts';
import { areas } from '../../src/areas';

/** Labels of Node-RED itself, and of other products that the documentation names. */
const FOREIGN_LABELS = [
  ...['Import', 'Import → Examples', 'Manage palette → Install', 'CA Certificate', 'Server Name', 'Start here', 'csv', 'binary'],
];

function* listTexts(texts: Texts): Generator<string> {
  for (const text of Object.values(texts)) {
    if (typeof text === 'string') yield text;
    else yield* listTexts(text);
  }
}

const readJson = (...path: string[]): unknown => JSON.parse(readFileSync(join(root, ...path), 'utf8'));
const listFiles = (folder: string, extension: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).flatMap((file) =>
    file.endsWith(extension) ? [join(folder, file)] : [],
  );

/** Names of example flows and of their nodes. */
function listFlowNames(): string[] {
  return ['examples', 'docs/cookbook', 'fleet/examples', 'scripts/demo']
    .flatMap((folder) => listFiles(folder, '.json'))
    .flatMap((file) => {
      const nodes = readJson(file) as { name?: string; label?: string }[];
      const names = Array.isArray(nodes) ? nodes.flatMap(({ name = '', label = '' }) => [name, label]) : [];
      return [...names, file.replace(/^.*[\\/]|\.json$/g, '')];
    });
}

const knownTexts = [
  ...listTexts(buildTable(areas).texts),
  ...listTexts(RUNTIME_TEXTS as unknown as Texts),
  ...listTexts(readJson('nodes', 'locales', 'en-US.json') as Texts),
  ...listTexts(readJson('fleet', 'nodes', 'locales', 'en-US.json') as Texts),
  ...listFlowNames(),
  ...FOREIGN_LABELS,
].map((text) => text.toLowerCase());
/** A text with placeholders stands for all its values. */
const patterns = knownTexts.map((text) => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/__\w+?__/g, '.+')}$`));

/** A page may use the first words of a label, such as *Ensure* for *Ensure a resource*. */
const operationLabels = areas.flatMap(({ operations }) => Object.values(operations).map(({ label }) => `${label.toLowerCase()} `));

function isKnown(label: string): boolean {
  const text = label.toLowerCase();
  return patterns.some((pattern) => pattern.test(text)) || operationLabels.some((known) => known.startsWith(`${text} `));
}

/** The texts between single asterisks, outside of code. */
function findLabels(markdown: string): string[] {
  const prose = markdown
    .replace(/```[^]*?```/g, '')
    .replace(/`[^`\n]*`/g, '')
    .replace(/\\\*/g, '');
  return [...prose.matchAll(/(?<![*\w])\*([^*\n]+)\*(?![*\w])/g)].map(([, label = '']) => label);
}

describe('the labels in the documentation', () => {
  // The internals and the contract emphasize words that are not labels.
  const pages = listFiles('docs', '.md').filter((file) => !/internals|contract\.md|operations\.md|nodes[\\/]/.test(file));

  it.each(['README.md', 'fleet/README.md', ...pages])(
    'the labels in the documentation of %s exist in a catalog or in an example flow',
    (file) => {
      const unknown = findLabels(readFileSync(join(root, file), 'utf8')).filter((label) => !isKnown(label));
      expect(unknown).toEqual([]);
    },
  );
});
