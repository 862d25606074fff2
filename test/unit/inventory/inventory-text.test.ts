import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { credentialsFromEnvironment, credentialsFromFolder } from '../../../src';
import { credentialsFromObject } from '../../../src/inventory/credentials';
import {
  checkInventoryDefaults,
  INVENTORY_ENTRY_PROPERTIES,
  MAX_INVENTORY_ENTRIES,
  readInventoryEntries,
  type InventoryEntry,
} from '../../../src/inventory/entry';
import { detectInventoryFormat, parseInventory, type InventoryFormat } from '../../../src/inventory/parse-inventory';
import { locateJsonElements } from '../../../src/inventory/scan-json';
import { parseSelection } from '../../../src/inventory/selection';
import { expectFailure, getThrownError } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/temporary';

describe('parseInventory', () => {
  const read = async (text: string, format: InventoryFormat): Promise<{ entries: readonly unknown[]; lines: unknown[] }> => {
    const { entries, findLine } = await parseInventory(text, format);
    return { entries, lines: await Promise.all(entries.map((_, index) => findLine(index))) };
  };

  it.each<[InventoryFormat, string, readonly unknown[], readonly (number | undefined)[]]>([
    ['json', '\ufeff[{"a":1},\n\n\t{"b":[true]}]', [{ a: 1 }, { b: [true] }], [1, 3]],
    ['json', `[\n${'['.repeat(19)}${']'.repeat(19)}]`, [expect.any(Array)], [2]],
    ['json', '[1,"[\\"\\u005b",\n{"a":[{}]},[],null,-1.5e3 ]', [1, '["[', { a: [{}] }, [], null, -1500], [1, 1, 2, 2, 2, 2]],
    ['yaml', '\ufeff- a\n- b\n', ['a', 'b'], [1, 2]],
    ['yaml', '# none yet\n', [], []],
    ['yaml', ' \n \n', [], []],
    [
      'yaml',
      '- {a: 1, a: 2}\n- {b: true, c: 007, d: ~, e: null, f: }',
      [{ a: '2' }, { b: 'true', c: '007', d: '~', e: 'null', f: '' }],
      [1, 2],
    ],
    [
      'yaml',
      '- &eu {a: x, b: y}\n-\n  <<: *eu\n  b: z',
      [
        { a: 'x', b: 'y' },
        { a: 'x', b: 'z' },
      ],
      [1, 3],
    ],
    ['csv', 'a,b\n1,2', [{ a: '1', b: '2' }], [2]],
    ['csv', 'a\tb\n1\t"2,3"', [{ a: '1', b: '2,3' }], [2]],
    ['csv', ' \n# a;b\na\tb\n1\t2', [{ a: '1', b: '2' }], [4]],
    ['csv', 'a;c\n1\t;2,', [{ a: '1', c: '2,' }], [2]],
    [
      'csv',
      '\n \n#x;y\n a , b\n1, 2 \n , \n"1\n2",3\n#,x\n4,5',
      [
        { a: '1', b: '2' },
        { a: '1\n2', b: '3' },
        { a: '4', b: '5' },
      ],
      [5, 7, 10],
    ],
    [
      'csv',
      'a,b\r\n"1\r\n2",3\r\n4,5\r\n',
      [
        { a: '1\r\n2', b: '3' },
        { a: '4', b: '5' },
      ],
      [2, 4],
    ],
  ])('parseInventory reads %s with the lines of its entries: %j', async (format, text, entries, lines) => {
    expect(await read(text, format)).toEqual({ entries, lines });
  });

  it('parseInventory limits the number of YAML aliases', async () => {
    const text = (count: number): string => `- &eu { realm: x }\n${'- { <<: *eu }\n'.repeat(count)}`;
    expect((await read(text(150), 'yaml')).entries.at(-1)).toEqual({ realm: 'x' });
    await expect(read(text(1500), 'yaml')).rejects.toMatchObject({ code: 'BAD_CONFIG' });
  });

  const LIST = 'An inventory is a list of appliances;';
  const ALIASES = 'The YAML of the inventory cannot be read: its aliases refer to each other too often, or to a missing anchor.';
  const CANNOT = 'The inventory cannot be read';
  const USE = 'the first line is separated by';
  const ONE = 'Use one separator in all lines';
  const QUOTES = 'a quotation mark is missing, or stands where none can be';
  it.each<[InventoryFormat, string, string, number | undefined]>([
    ['json', '[{"name": a}]', `${CANNOT}, line 1, column 11: it is not valid JSON.`, 1],
    ['json', '[\n{"name": "a"\n "url": 1}\n]', `${CANNOT}, line 3, column 2: it is not valid JSON.`, 3],
    ['json', '[{"a":1,\n"a":2},\n{"b" "c"}]', `${CANNOT}, line 3, column 6: it is not valid JSON.`, 3],
    ['json', '[]\n---\n[]', `${CANNOT}, line 2, column 1: it is not valid JSON.`, 2],
    ['json', '[{"a":1},\n]', `${CANNOT}, line 2, column 1: a comma precedes ]; remove the comma.`, 2],
    ['json', '[{"a":1, }]', `${CANNOT}, line 1, column 10: a comma precedes }; remove the comma.`, 1],
    ['json', "[{'a':1}]", `${CANNOT}, line 1, column 3: it uses single quotation marks; use double quotation marks.`, 1],
    ['json', '[{"a":\'x\'}]', `${CANNOT}, line 1, column 7: it uses single quotation marks; use double quotation marks.`, 1],
    ['json', '[{"a":1},', `${CANNOT}, line 1, column 10: it ends too early.`, 1],
    ['json', '', `${CANNOT}, line 1, column 1: it ends too early.`, 1],
    ['json', '["a', `${CANNOT}, line 1, column 2: a text has no end, or contains a line end or an invalid escape sequence.`, 1],
    ['json', '[}', `${CANNOT}, line 1, column 2: it is not valid JSON.`, 1],
    ['json', '[1 2]', `${CANNOT}, line 1, column 4: it is not valid JSON.`, 1],
    ['json', '[01]', `${CANNOT}, line 1, column 3: it is not valid JSON.`, 1],
    ['json', '{"a":1}', `${LIST} an object was found.`, undefined],
    ['json', 'null', `${LIST} something else was found.`, undefined],
    ['yaml', 'a: b', `${LIST} an object was found.`, undefined],
    ['yaml', '~', `${LIST} something else was found.`, undefined],
    ['yaml', '- name: a\n  url: "x\n', `${CANNOT}, line 3, column 1: it is not valid YAML (MISSING_CHAR).`, 3],
    ['yaml', '- a\n---\n- b\n', `${CANNOT}, line 2, column 1: it has several YAML documents.`, 2],
    ['yaml', '- *a\n', ALIASES, undefined],
    ['csv', 'a,,b\n', 'The inventory cannot be read, line 1: a column has no name.', 1],
    ['csv', '\na,b, a\n1,2,3', 'The inventory cannot be read, line 2: two columns have the same name.', 2],
    ['csv', 'a,b\n1,2,3\n', 'The inventory cannot be read, line 2: it has 3 cells, and the first line has 2.', 2],
    ['csv', 'a,b\n1,2\n3\n4', 'The inventory cannot be read, line 3: it has 1 cell, and the first line has 2.', 3],
    [
      'csv',
      'a,b\n1;2',
      `${CANNOT}, line 2: it has 1 cell, and the first line has 2. It contains semicolons, but ${USE} commas. ${ONE}.`,
      2,
    ],
    [
      'csv',
      'a;b\n1,2',
      `${CANNOT}, line 2: it has 1 cell, and the first line has 2. It contains commas, but ${USE} semicolons. ${ONE}.`,
      2,
    ],
    ['csv', 'a,b;c\n1,2', `${CANNOT}, line 1: it contains both semicolons and commas. ${ONE}.`, 1],
    ['csv', 'a,b\n1,"2"x\n3\n', `The inventory cannot be read, line 2: ${QUOTES}.`, 2],
    ['csv', 'a\n"b\r\nc"\r\n"d', `The inventory cannot be read, line 4: ${QUOTES}.`, 4],
  ])('parseInventory reports where and why %s cannot be read: %j', async (format, text, message, line) => {
    const error = await expectFailure(parseInventory(text, format));
    expect(error).toMatchObject({ code: 'BAD_CONFIG', message });
    expect(error.details).toEqual({ sent: false, ...(line !== undefined && { extra: { line } }) });
  });

  const DEEP = 'it is nested deeper than 20 levels';
  const KEY = 'a YAML key is not a text';
  it.each<[string, InventoryFormat, string, string]>([
    ['nested lists in JSON', 'json', `[\n${'['.repeat(100_000)}`, `line 2, column 20: ${DEEP}`],
    ['nested objects in JSON', 'json', '{"a":'.repeat(100_000), `line 1, column 101: ${DEEP}`],
    ['nested flow lists', 'yaml', '['.repeat(100_000), DEEP],
    ['nested flow maps', 'yaml', '{a: '.repeat(100_000), DEEP],
    ['nested block lists', 'yaml', `${'- '.repeat(100_000)}x`, DEEP],
    ['nested block maps', 'yaml', Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join(''), DEEP],
    ['explicit keys', 'yaml', '? '.repeat(400), KEY],
    ['explicit keys in a flow list', 'yaml', `[${'? '.repeat(400)}]`, KEY],
    ['maps as keys', 'yaml', `${'{'.repeat(15)}a${': b}'.repeat(15)}`, KEY],
    ['lists as keys', 'yaml', '- [a]: b', KEY],
    ['aliases as keys', 'yaml', '- &a {b: c}\n- {*a : d}', KEY],
    [
      '20,000 anchors',
      'yaml',
      Array.from({ length: 20_000 }, (_, index) => `- &a${index} x\n`).join(''),
      'it has more than 100 YAML anchors',
    ],
    ['20,000 aliases', 'yaml', `- &a x\n${'- *a\n'.repeat(20_000)}`, 'it has more than 1000 YAML aliases'],
    [
      'a map with many keys',
      'yaml',
      `- &a {${Array.from({ length: 1500 }, (_, index) => `a${index}: b`).join(', ')}}`,
      'a map has more than 1000 keys',
    ],
  ])('parseInventory rejects %s before any recursive or quadratic work', async (_what, format, text, message) => {
    const startedAt = performance.now();
    const error = await expectFailure(parseInventory(text, format));
    expect(error).toMatchObject({ code: 'BAD_CONFIG', message: expect.stringContaining(message) as string });
    // The attacks took 10 seconds and more, or ended the process.
    expect(performance.now() - startedAt).toBeLessThan(3000);
  });

  it('parseInventory reads values that look like YAML syntax as text', async () => {
    const text = `- a: |\n    ${'- '.repeat(50)}\n    ?\n    &x *y\n  b: "${'['.repeat(50)}"\n  c: x? y\n`;
    expect((await read(text, 'yaml')).entries).toEqual([{ a: `${'- '.repeat(50)}\n?\n&x *y\n`, b: '['.repeat(50), c: 'x? y' }]);
  });

  it('parseInventory reads a CSV header of 40,000 columns in linear time', async () => {
    const measure = async (columns: number): Promise<number> => {
      const header = Array.from({ length: columns }, (_, index) => `column-${index}`).join(',');
      const startedAt = performance.now();
      await parseInventory(`${header}\n`, 'csv');
      return performance.now() - startedAt;
    };
    await measure(1000);
    expect(await measure(40_000)).toBeLessThan(1000);
  });

  it('parseInventory parses random texts like JSON.parse', () => {
    const parts = ['[', ']', '{', '}', ',', ':', '"a"', '1', '-', '0.5', 'e9', 'true', 'null', ' ', '\n', '"\\u00e9"', '"\\x"', "'"];
    const isValid = (text: string): boolean => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    let validCount = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((list) => list.join('')),
          fc.json(),
        ),
        (text) => {
          validCount += isValid(text) ? 1 : 0;
          expect([text, locateJsonElements(text, 20).fault === undefined]).toEqual([text, isValid(text)]);
        },
      ),
      { numRuns: 3000 },
    );
    expect(validCount).toBeGreaterThan(500);
  });

  it('parseInventory detects the format by the end of the file name', () => {
    for (const name of ['a', 'json', 'ajson', 'a.json.txt', 'a.yaaml', 'a.jsonl']) {
      const error = getThrownError(() => detectInventoryFormat(name));
      expect(error?.message).toBe('The name of the inventory file must end in .json, .yaml, .yml or .csv.');
      expect(error?.code).toBe('BAD_CONFIG');
    }
    expect(['x/a.b.json', 'a.YML', '.csv', 'a.Yaml'].map(detectInventoryFormat)).toEqual(['json', 'yaml', 'csv', 'yaml']);
  });
});

describe('readInventoryEntries', () => {
  const raw = { name: 'vpn-1', url: 'https://a' };
  const take = async (...entries: unknown[]): Promise<InventoryEntry[]> => readInventoryEntries(entries, () => undefined);
  const refused = async (entry: unknown, lineOf?: (index: number) => Promise<number | undefined>): Promise<string> => {
    const error = await expectFailure(readInventoryEntries([entry], () => undefined, lineOf));
    expect(error).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    return error.message.replace('The inventory was not loaded. ', '');
  };

  it('readInventoryEntries returns name, tags, credential set and properties, and ignores empty cells', async () => {
    const given = { ...raw, realm: '', journal: null, timeout: 7, dryRun: false, rate: undefined };
    expect(await take(given)).toEqual([
      { name: 'vpn-1', tags: [], credentials: 'default', properties: { url: 'https://a', timeout: 7, dryRun: false } },
    ]);
    const sets = ['_', 'eu', 'Eu 1.x-y_z', 'a'.repeat(100), 7];
    const found = await take(...sets.map((credentials, index) => ({ name: index, credentials })));
    expect(found.map(({ name, credentials }) => [name, credentials])).toEqual(sets.map((set, index) => [String(index), String(set)]));
    expect(INVENTORY_ENTRY_PROPERTIES).toEqual(expect.arrayContaining(['url', 'realm', 'tls', 'proxy', 'timeout']));
    expect(INVENTORY_ENTRY_PROPERTIES).not.toContain('name');
  });

  it.each([
    ['eu prod', ['eu', 'prod']],
    [' eu,, prod;lab\teu ', ['eu', 'prod', 'lab']],
    [
      ['eu', 7, '', 'eu'],
      ['eu', '7'],
    ],
    [7, ['7']],
    ['', []],
    [undefined, []],
    [null, []],
    ['tag:x', ['tag:x']],
  ])('readInventoryEntries accepts tags in the notation %j', async (tags, expected) => {
    expect((await take({ ...raw, tags }))[0]?.tags).toEqual(expected);
  });

  const TAGS = 'tags: each tag must be one word without * | ! or quotation marks.';
  const NAME =
    'name: it must not contain * | or quotation marks, start with ! or tag:, or start or end with a space, because selections use these.';
  const SET = 'credentials: it must be the name of a credential set, with only letters, digits, spaces and _ . -.';
  const NONE = 'it is not an appliance. An appliance is an object with name and url.';
  it.each<[unknown, string]>([
    ['a', `entry 1: ${NONE}`],
    [null, `entry 1: ${NONE}`],
    [['a'], `entry 1: ${NONE}`],
    [{}, 'entry 1: name: it is missing.'],
    [{ name: '' }, 'entry 1: name: it is missing.'],
    [{ name: true }, 'entry 1: name: it is missing.'],
    [{ name: 'x'.repeat(201) }, `entry 1 (${'x'.repeat(200)}): name: it is longer than 200 characters.`],
    ...['a*', 'a|b', '"a', '!a', 'tag:a', ' a', 'a '].map((name): [unknown, string] => [{ name }, `entry 1 (${name}): ${NAME}`]),
    [{ name: 'a\u0007' }, `entry 1 (a\u0007): ${NAME}`],
    [{ name: 'a\n b ' }, `entry 1 (a b ): ${NAME}`],
    ...['../x', 'a..b', '', ' a', '-a', 'a/b', 'a'.repeat(101), true, {}].map((credentials): [unknown, string] => [
      { ...raw, credentials: credentials === '' ? '.' : credentials },
      `entry 1 (vpn-1): ${SET}`,
    ]),
    ...[['a b'], ['*'], ['a|b'], ['"'], ['!a'], [true], [null], { a: 1 }, true].map((tags): [unknown, string] => [
      { ...raw, tags },
      `entry 1 (vpn-1): ${TAGS}`,
    ]),
    [{ ...raw, realm: {} }, 'entry 1 (vpn-1): realm: it must be a text or a number.'],
    [
      { ...raw, password: '' },
      'entry 1 (vpn-1): password: it belongs in a credential set, not in the inventory. Enter the name of the set in credentials.',
    ],
  ])('readInventoryEntries rejects %j with the reason', async (entry, message) => {
    expect(await refused(entry)).toBe(message);
  });

  it('readInventoryEntries rejects a repeated name, and an unknown property with the list of valid ones', async () => {
    const twice = await expectFailure(take(raw, { ...raw, name: 'b' }, raw));
    expect(twice.message).toBe('The inventory was not loaded. entry 3 (vpn-1): name: entry 1 has the same name.');
    const long = 'y'.repeat(70);
    for (const name of ['username', 'shared-secret'])
      expect(await refused({ ...raw, [name]: 'x' })).toContain(`${name}: it belongs in a credential set`);
    expect(await refused({ ...raw, [long]: 'x' })).toBe(
      `entry 1 (vpn-1): ${'y'.repeat(60)}: unknown property. Use name, tags, credentials, ${INVENTORY_ENTRY_PROPERTIES.join(', ')}.`,
    );
    // The special characters are allowed inside a name.
    expect(await take({ ...raw, name: 'a!b' }, { ...raw, name: 'a tag:b c' }, { ...raw, name: 'x'.repeat(200) })).toHaveLength(3);
  });

  it('readInventoryEntries reports the lines of the first five faults and the number of further faults', async () => {
    const lineOf = (index: number): Promise<number> => Promise.resolve(10 + index);
    const entries = Array.from({ length: 7 }, (_, index) => ({ name: `vpn-${index}` }));
    const check = ({ name }: InventoryEntry): void => void (name === 'vpn-0' || checkInventoryDefaults({ relm: name }));
    const error = await expectFailure(readInventoryEntries(entries.slice(0, 6), check, lineOf));
    expect(error.message.match(/line \d+ \(vpn-\d\)/g)).toEqual([1, 2, 3, 4, 5].map((index) => `line ${10 + index} (vpn-${index})`));
    expect(error.message).not.toContain('more.');
    expect(error.details.extra).toEqual({ line: 11 });
    const more = (await expectFailure(readInventoryEntries(entries, check, lineOf))).message;
    expect([more.match(/line \d+/g)?.length, more.slice(-12)]).toEqual([5, ' And 1 more.']);
    const fault = new TypeError('a fault of ours');
    await expect(
      readInventoryEntries([raw], () => {
        throw fault;
      }),
    ).rejects.toBe(fault);
  });

  it(`readInventoryEntries accepts at most ${MAX_INVENTORY_ENTRIES} appliances`, async () => {
    const many = Array.from({ length: MAX_INVENTORY_ENTRIES + 1 }, (_, index) => ({ name: index }));
    expect((await expectFailure(take(...many))).message).toBe('The inventory has 100001 appliances; the maximum is 100000.');
    expect(await take(...many.slice(1))).toHaveLength(MAX_INVENTORY_ENTRIES);
  });

  it('readInventoryEntries checks the defaults in the same way as the entries', () => {
    checkInventoryDefaults({ realm: 'x', timeout: 7, tls: { ca: 'x' }, proxy: { host: 'x' }, dryRun: true });
    const told = (defaults: object): string | undefined => {
      const error = getThrownError(() => checkInventoryDefaults(defaults as Record<string, unknown>));
      expect(error?.code).toBe('BAD_CONFIG');
      return error?.message;
    };
    const WHERE = 'The defaults of the inventory are invalid.';
    expect(told({ name: 'x' })).toBe(`${WHERE} name: it cannot be a default, because each appliance needs its own name.`);
    expect(told({ realm: {} })).toBe(`${WHERE} realm: it must be a text or a number.`);
    expect(told({ tls: {}, apiKey: 'x' })).toContain(`${WHERE} apiKey: it belongs in a credential set`);
  });
});

describe('parseSelection', () => {
  const fits = (selection: string, name: string, ...tags: string[]): boolean => parseSelection(selection)({ name, tags });
  const told = (selection: unknown): string | undefined => {
    const error = getThrownError(() => parseSelection(selection));
    expect(error?.code).toBe('BAD_INPUT');
    return error?.message;
  };

  it('parseSelection matches complete names and tags, which need quotation marks if they have special characters', () => {
    expect(fits('a', 'a')).toBe(true);
    expect(fits('a', 'ab')).toBe(false);
    expect(fits('a*', 'ab')).toBe(true);
    expect(fits('"a*"', 'ab')).toBe(true);
    expect(fits('"tag:x"', 'tag:x')).toBe(true);
    expect(fits('!"a b"', 'a b')).toBe(false);
    expect(fits('tag:"a b"|c', 'c')).toBe(true);
    expect(fits('1a:2', '1a:2')).toBe(true);
    expect([fits('tag:eu', 'x', 'us', 'eu'), fits('tag:eu', 'eu'), fits('tag:e*', 'x', 'us')]).toEqual([true, false, false]);
    expect([fits('!a', 'a'), fits('!a', 'b'), fits('a b', 'a'), fits('a|b', 'b')]).toEqual([false, true, false, true]);
    expect(fits('!tag:lab b', 'b', 'eu')).toBe(true);
    expect(fits('x'.repeat(10_000), 'x'.repeat(10_000))).toBe(true);
  });

  it('parseSelection gives the reason when it rejects a selection', () => {
    const NONE = 'No appliance is selected. Enter names, tag:name, or * for all appliances of the inventory.';
    for (const none of ['', ' ', undefined, 7]) expect(told(none)).toBe(NONE);
    expect(told('x'.repeat(10_001))).toBe('The selection is longer than 10000 characters. Shorten it.');
    for (const odd of ['"a', 'a "b', 'a"', '!'])
      expect(told(odd)).toBe(`The selection ${odd} is invalid: a quotation mark or a word is missing.`);
    for (const side of ['a |', '|a', 'a||b', '|'])
      expect(told(side)).toBe(
        `The selection ${side} has nothing on one side of a |, which would select every appliance. Remove the | or add a word.`,
      );
    for (const empty of ['""', 'a !""', 'tag:""']) expect(told(empty)).toBe('The selection has an empty word. Enter a name or tag:name.');
    for (const colon of ['tags:eu', 'Host:8443', 'a:'])
      expect(told(`b ${colon}`)).toBe(
        `${colon} is not valid in a selection. Write a tag as tag:name, and a name with a colon in quotation marks.`,
      );
  });
});

describe('credential sources', () => {
  it('credentials are read from an object', () => {
    const given = { default: { username: 'a' }, none: undefined as never };
    const source = credentialsFromObject(given);
    expect(source.read('default')).toEqual({ username: 'a' });
    for (const name of ['eu', 'none', 'toString', '__proto__']) expect(source.read(name)).toEqual({});
    expect(source.describeLocation('eu', 'password')).toBe('Enter password of the set eu in the credentials of the inventory.');
    expect(credentialsFromObject(given, 'the node').describeLocation('eu', 'apiKey')).toBe('Enter apiKey of the set eu in the node.');
  });

  it('credentials are read from environment variables', () => {
    const before = process.env['GATEWAY_A_B_SECOND_USERNAME'];
    process.env['GATEWAY_A_B_SECOND_USERNAME'] = 'x';
    try {
      expect(credentialsFromEnvironment().read('a.b')).toEqual({ secondUsername: 'x' });
    } finally {
      delete process.env['GATEWAY_A_B_SECOND_USERNAME'];
    }
    expect(before).toBeUndefined();
    expect(credentialsFromEnvironment('X', {}).describeLocation('ä 1', 'secondPassword')).toBe(
      'Set the environment variable X___1_SECOND_PASSWORD where this process is started.',
    );
  });

  it('credentials are read from a folder, without the line end of each file', () => {
    const folder = createTemporaryFolder();
    expect(credentialsFromFolder(folder).read('eu')).toEqual({});
    expect(credentialsFromFolder(join(folder, 'none')).read('eu')).toEqual({});
    writeFileSync(join(folder, 'eu'), 'a file');
    expect(credentialsFromFolder(folder).read('eu')).toEqual({});
    mkdirSync(join(folder, 'us'));
    const put = (name: string, text: string): void => writeFileSync(join(folder, 'us', name), text);
    put('username', 'a\nb\n\n');
    put('password', '\r\n');
    put('apiKey', 'x\r\ny');
    expect(credentialsFromFolder(folder).read('us')).toEqual({ username: 'a\nb\n', apiKey: 'x\r\ny' });
    mkdirSync(join(folder, 'us', 'totpSecret'));
    const error = getThrownError(() => credentialsFromFolder(folder).read('us'));
    expect(error).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    expect(error?.message).toBe('totpSecret of the credential set us cannot be read from its file (EISDIR).');
    expect(credentialsFromFolder(folder).describeLocation('us', 'apiKey')).toBe(`Put it into the file ${join(folder, 'us', 'apiKey')}.`);
  });
});
