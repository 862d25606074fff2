import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';

// Comments may cite only headings that exist.
const DOCUMENTS = {
  'appliance-api.md': 'reference/appliance-api.md',
  'field-notes.md': 'reference/field-notes.md',
  contract: 'contract.md',
} as const;
type Cited = keyof typeof DOCUMENTS;

/** Headings of a document with the numbers of the points below each. */
function headingsOf(file: string): Map<string, Set<string>> {
  const headings = new Map<string, Set<string>>();
  let points = new Set<string>();
  for (const line of readFileSync(join(root, 'docs', file), 'utf8').split('\n')) {
    const heading = /^#+ (?:(\d+)\. )?(.+)$/.exec(line);
    if (heading) {
      points = new Set();
      headings.set(heading[2] ?? '', points);
      if (heading[1] !== undefined) headings.set(`section ${heading[1]}`, points);
    }
    const point = /^(\d+)\. /.exec(line)?.[1];
    if (point !== undefined) points.add(point);
  }
  return headings;
}

const documents = new Map(Object.entries(DOCUMENTS).map(([name, file]) => [name as Cited, headingsOf(file)]));

/** Each comment of a file as one line. */
function commentsOf(text: string): string[] {
  const blocks = [...text.matchAll(/\/\*\*?([^]*?)\*\/|((?:^[ \t]*\/\/.*\n)+)/gm)].map(([, block, lines]) => block ?? lines ?? '');
  return blocks.map((comment) => comment.replace(/^\s*(?:\*|\/\/)+/gm, ' ').replace(/\s+/g, ' '));
}

interface Citation {
  document: Cited;
  title: string;
  points: string[];
}

/** `appliance-api.md, "Limits" 3 and "Cluster"`, `contract, section 5`, `the contract's section 3`. */
function citationsOf(comment: string): Citation[] {
  // The simulator knows one document, and need not name it.
  const named = comment.replaceAll(/(?<!\w)section "/g, 'appliance-api.md, "');
  const spans = named.matchAll(
    /(appliance-api\.md|field-notes\.md|contract)(?:'s|,)? ((?:(?!appliance-api\.md|field-notes\.md|contract)[^);:])*)/g,
  );
  return [...spans].flatMap(([, name, rest = '']) => {
    const document = name as Cited;
    const titled = [...rest.matchAll(/"([^"]+)"(?:,? (?:rules? )?(\d+)((?: and \d+)*))?/g)].map(([, title = '', first, more = '']) => ({
      document,
      title: title.trim(),
      points: [first, ...more.split(' and ')].filter((point): point is string => Boolean(point)),
    }));
    const sections = [...rest.matchAll(/\bsection (\d+)/g)].map(([title]) => ({ document, title, points: [] }));
    return [...titled, ...sections];
  });
}

const files = ['src', 'nodes'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name)),
);

describe('citations', () => {
  const all = files.flatMap((file) =>
    commentsOf(readFileSync(file, 'utf8')).flatMap((comment) =>
      citationsOf(comment).map((citation) => ({ ...citation, file: relative(root, file) })),
    ),
  );

  it('the test of citations finds every form in which comments cite a document', () => {
    expect(citationsOf('x (appliance-api.md, "Limits" 3, "Cluster" and "Authentication", 9 and 10; contract, section 5).')).toEqual([
      { document: 'appliance-api.md', title: 'Limits', points: ['3'] },
      { document: 'appliance-api.md', title: 'Cluster', points: [] },
      { document: 'appliance-api.md', title: 'Authentication', points: ['9', '10'] },
      { document: 'contract', title: 'section 5', points: [] },
    ]);
    for (const document of documents.keys())
      expect(
        all.some((citation) => citation.document === document),
        document,
      ).toBe(true);
    expect(all.length).toBeGreaterThan(40);
  });

  it('citations in comments name headings and numbered points that exist', () => {
    const missing = all.flatMap(({ document, title, points, file }) => {
      const known = documents.get(document)?.get(title);
      if (!known) return [`${file}: ${document}, "${title}"`];
      return points.filter((point) => !known.has(point)).map((point) => `${file}: ${document}, "${title}" ${point}`);
    });
    expect(missing).toEqual([]);
  });

  it.each(Object.values(DOCUMENTS))('docs/%s has unique headings and working links', (file) => {
    const text = readFileSync(join(root, 'docs', file), 'utf8');
    const titles = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title);
    expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
    const anchors = titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const [, anchor = ''] of text.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(anchor);
  });
});
