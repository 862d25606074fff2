import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { findSigningRequest, encodeSignedCertificate } from '../../src/areas/certificates/bundle';
import { parseGroups } from '../../src/areas/groups/catalog';
import { parseSessionFilter } from '../../src/areas/sessions/session-filter';
import { SessionIdSet } from '../../src/areas/sessions/session-id-set';
import { readResourceLinks } from '../../src/areas/links';
import { XmlFingerprint } from '../../src/backup/xml-fingerprint';
import { createBackupName } from '../../src/backup/names';
import { computeBinaryFingerprint } from '../../src/backup/binary-fingerprint';
import { compareWithDesired, compareResources } from '../../src/change/compare';
import { parseInput } from '../../src/model/input';
import type { JsonObject } from '../../src/model/json';
import { toJsonText, withBooleanTexts } from '../../src/model/json-text';
import { objectField, defineOperation } from '../../src/model/operation';
import { toConfigurationPath } from '../../src/model/path';
import { Redactor } from '../../src/model/redaction';
import { findSecrets } from '../../src/model/secrets';
import { checkSettings } from '../../src/model/settings';
import { parseTotpSecret } from '../../src/model/totp';
import { Base64Check, Base64Decoder } from '../../src/transfer/base64';
import { XmlCheck } from '../../src/transfer/xml';
import { readZipDirectory } from '../../src/transfer/zip';
import { writeZip } from '../../src/simulator/zip';

const MAX_GROWTH = 2.5;
const AGAIN = 16;

/** Input of a size, and what reads it. */
interface Reader {
  readonly make: (size: number) => unknown;
  readonly read: (input: never) => unknown;
}
type Row = readonly [what: string, make: Reader['make'], read: Reader['read']];

/** The shortest of some times, in milliseconds: what else the machine does makes it longer, never shorter. */
async function fastest(work: () => unknown, times: number): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < times; time++) {
    const start = process.cpuUsage();
    try {
      await work();
    } catch (error) {
      // A refusal is a valid outcome; a fault of the reader is not.
      if (error instanceof RangeError || error instanceof TypeError) throw error;
    }
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/** The first size: large enough to be measured. */
const MIN_SIZE = 1 << 10;
/** What costs the square takes minutes for an input of this size. */
const MAX_SIZE = 1 << 18;
/** Shorter times say more about the clock than about the reader. */
const MIN_MS = 3;

/**
 * How much more twice as long an input costs, at the middle one of three doublings: the collector and the compiler step in at one size
 * or another. Repeated until it looks good, since what costs the square never does.
 */
async function growth({ make, read }: Reader): Promise<number> {
  const work = (input: unknown) => (): unknown => read(input as never);
  let size = MIN_SIZE;
  while ((await fastest(work(make(size)), 4)) < MIN_MS) {
    if (size >= MAX_SIZE) return 1;
    size *= 2;
  }
  // Input made anew lies elsewhere in memory, where the collector may have less to do with it.
  let best = Infinity;
  for (let attempt = 0; attempt < 4 && best > MAX_GROWTH; attempt++)
    best = await middleOf(
      [1, 2, 4, 8].map((times) => make(times * size)),
      work,
    );
  return best;
}

/** The middle one of the ratios between the times of inputs that double. */
async function middleOf(inputs: unknown[], work: (input: unknown) => () => unknown, rounds = 5): Promise<number> {
  const least = inputs.map(() => Infinity);
  let middle = Infinity;
  for (let round = 0; round < rounds && middle > MAX_GROWTH; round++) {
    for (const [index, input] of inputs.entries()) least[index] = Math.min(least[index] as number, await fastest(work(input), 2));
    const ratios = least.slice(1).map((time, index) => time / (least[index] as number));
    middle = ratios.sort((one, other) => one - other)[1] as number;
  }
  return middle;
}

const pieces = (text: string, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, index) => Buffer.from(text.slice(index * size, (index + 1) * size), 'latin1'));

/** Checks a document that arrives in pieces. */
function checkXml(parts: Buffer[], fingerprint = new XmlFingerprint()): void {
  const check = new XmlCheck(fingerprint);
  for (const part of parts) check.write(part);
  check.end();
}

const xml =
  (inner: (size: number) => string, piece = 1 << 20) =>
  (size: number): Buffer[] =>
    pieces(inner(size), piece);

function checkBase64(parts: Buffer[]): void {
  const check = new Base64Check();
  for (const part of parts) check.write(part);
  check.end();
}

const ad = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ name: `Group ${index}`, group: `X/Group ${index}` }));

/** The directory of a ZIP64 with so many files. */
function directoryOf(count: number): Buffer {
  const entries = Buffer.alloc(47 * count, 'PK\u0001\u0002');
  for (let at = 0; at < entries.length; at += 47) entries.fill(0, at + 4, at + 46).writeUInt16LE(1, at + 28);
  const end64 = Buffer.alloc(56, 'PK\u0006\u0006').fill(0, 4);
  [count, entries.length, 1].forEach((value, index) => end64.writeBigUInt64LE(BigInt(value), 32 + 8 * index));
  const locator = Buffer.alloc(20, 'PK\u0006\u0007').fill(0, 4);
  locator.writeBigUInt64LE(BigInt(1 + entries.length), 8);
  const end = Buffer.alloc(22, 'PK\u0005\u0006').fill(0xff, 4, 20).fill(0, 20);
  return Buffer.concat([Buffer.alloc(1), entries, end64, locator, end]);
}

const redactor = (secrets: string[]): Redactor => new Redactor().add(...secrets);
const anything = defineOperation({
  effect: 'write',
  label: '',
  help: '',
  data: '',
  fields: { body: objectField('Body', '') },
  request: ({ body = {} }) => ({ method: 'PUT', path: '/', body }),
  example: { input: {}, request: '' },
});
const settings = { url: 'https://vpn.example.com', login: 'key', apiKey: 'k' } as const;

const texts =
  (field: string, one: (index: number) => string) =>
  (size: number): JsonObject => ({ [field]: Array.from({ length: size }, (_, index) => one(index)) });
const RECORD = { 'active-user-name': 'aaaaaaaa', 'source-ip': '192.0.2.1', 'user-roles': ['A', 'B'] };
/** Read once, and asked of a few sessions that none of it means. */
function filtered(filter: JsonObject): void {
  const matches = parseSessionFilter(filter);
  for (let record = 0; record < 5; record++) matches(RECORD);
}

/** Some, again and again: of more than fit beside the processor, the time tells of memory that others use too. */
function seenAlike(ids: readonly string[]): void {
  for (let time = 0; time < AGAIN; time++) {
    const seen = new SessionIdSet();
    for (const id of ids) seen.add(id);
  }
}

const keys = (size: number): [string, string][] => Array.from({ length: size }, (_, index) => [`k${index}`, 'x']);
const compareWithNothing = (body: JsonObject): unknown => [
  compareWithDesired('', body, {}).diff.length,
  compareResources('', body, {}).length,
];

const READERS: Row[] = [
  ['fields below a long name, compared', (size) => ({ ['a'.repeat(size)]: Object.fromEntries(keys(size)) }), compareWithNothing],
  ['lists in a list, compared', (size) => ({ a: keys(size).map(([key]) => [{ [key]: [key] }]) }), compareWithNothing],
  ['hyperlinks in a list, compared', (size) => ({ a: keys(size).map(([key]) => ({ href: key })) }), compareWithNothing],
  // The reported ones: each costs the square, or worse, in version 0.1.
  ['comments in a doctype', xml((size) => `<!DOCTYPE a [${'<!--a-->'.repeat(size)}`), checkXml],
  ['quotes in a doctype', xml((size) => `<!DOCTYPE a [${`"'"'"'`.repeat(size)}`), checkXml],
  ['declarations in a doctype', xml((size) => `<!DOCTYPE a [${'<!a '.repeat(size)}]><configuration/>`), checkXml],
  [
    'attributes of one tag',
    xml((size) => `<configuration><a${Array.from({ length: size }, (_, i) => ` b${i}="1"`).join('')}/></configuration>`),
    checkXml,
  ],
  [
    'spaces in the name of a group',
    (size) => `cn=a${' '.repeat(size)}b,dc=c`,
    (dn: string) => parseGroups({ server: 'a', directory: 'ldap', groups: [{ dn, name: 'a', 'group-type': 'static' }] }),
  ],
  [
    'separators in the name of a group',
    (size) => `cn=a${' , '.repeat(size)}`,
    (dn: string) => parseGroups({ server: 'a', directory: 'ldap', groups: dn }),
  ],
  ['groups', ad, (groups: object[]) => parseGroups({ server: 'a', directory: 'ad', groups })],
  // XML in all of its parts.
  ['a tag in small pieces', xml((size) => `<configuration><a b="${'x'.repeat(size)}"/></configuration>`, 64), checkXml],
  ['a comment in small pieces', xml((size) => `<configuration><!--${'- '.repeat(size)}--></configuration>`, 64), checkXml],
  ['CDATA of brackets', xml((size) => `<configuration><![CDATA[${']] '.repeat(size)}]]></configuration>`, 1024), checkXml],
  ['instructions', xml((size) => `<configuration>${'<?a ? > ?>'.repeat(size)}</configuration>`), checkXml],
  ['an instruction in small pieces', xml((size) => `<configuration><?a ${'? '.repeat(size)}?></configuration>`, 64), checkXml],
  ['elements', xml((size) => `<configuration>${'<a/>'.repeat(size)}</configuration>`), checkXml],
  ['elements in each other', xml((size) => `<configuration>${'<a>'.repeat(size)}${'</a>'.repeat(size)}</configuration>`), checkXml],
  [
    'elements of different names',
    xml((size) => `<configuration>${Array.from({ length: size }, (_, i) => `<last-${i}-/>`).join('')}</configuration>`),
    checkXml,
  ],
  ['a long name', xml((size) => `<configuration><last-${'-time'.repeat(size)}/></configuration>`), checkXml],
  [
    'spaces in an element that is passed over',
    xml((size) => `<configuration><uptime>${' '.repeat(size)}x</uptime></configuration>`, 64),
    checkXml,
  ],
  ['references', xml((size) => `<configuration>${'&amp;&#65;'.repeat(size)}</configuration>`, 1000), checkXml],
  ['an XML declaration', (size) => Buffer.from(`<?xml${' encoding'.repeat(size)} ?><configuration/>`), (text: Buffer) => checkXml([text])],
  [
    'spaces in an XML declaration',
    (size) => Buffer.from(`<?xml encoding${' '.repeat(size)}?><configuration/>`),
    (text: Buffer) => checkXml([text]),
  ],
  // Binary configurations.
  ['base64', (size) => pieces('QUJD'.repeat(size), 1 << 18), checkBase64],
  ['base64 in small lines', (size) => pieces('QUJD\r\n'.repeat(size), 1000), checkBase64],
  ['spaces instead of base64', (size) => pieces(' '.repeat(size), 1000), checkBase64],
  [
    'base64 that is decoded',
    (size) => pieces('QUJ D\n'.repeat(size), 1000),
    (parts: Buffer[]) => {
      const decoder = new Base64Decoder();
      for (const part of parts) decoder.write(part);
    },
  ],
  ['files of a ZIP', directoryOf, (zip: Buffer) => readZipDirectory(zip, zip.length)],
  ['ends of a ZIP', (size) => Buffer.from('PK\u0005\u0006'.repeat(size)), (zip: Buffer) => readZipDirectory(zip, zip.length)],
  // Texts.
  ['a path', (size) => '%41/b'.repeat(size), (path: string) => toConfigurationPath(path)],
  ['a path of slashes', (size) => '/'.repeat(size), (path: string) => toConfigurationPath(path)],
  ['a path that leads elsewhere', (size) => 'api/v'.repeat(size), (path: string) => toConfigurationPath(path)],
  [
    'links',
    (size) => ({ a: Array.from({ length: size }, () => ({ name: 'a', href: '/a' })) }),
    (document: never) => readResourceLinks(document),
  ],
  ['certificates as text', (size) => '-----BEGIN A-----QUJD '.repeat(size), (text: string) => encodeSignedCertificate(text)],
  ['the beginnings of a certificate', (size) => `-----BEGIN ${'A'.repeat(size)}`, (text: string) => encodeSignedCertificate(text)],
  ['spaces in a certificate', (size) => `QUJD${' '.repeat(size)}?`, (text: string) => encodeSignedCertificate(text)],
  [
    'places of a signing request',
    (size) => 'system/certificates/device-certificate-csrs/a'.repeat(size),
    (message: string) => findSigningRequest({ info: [{ message }], warnings: [], errors: [] }),
  ],
  ['names of a backup', (size) => `x${'.'.repeat(size)}x`, (name: string) => createBackupName(name, `${name}-`, new Date(0))],
  ['padding of the secret of one-time codes', (size) => `${'='.repeat(size)}A`, (secret: string) => parseTotpSecret(secret)],
  ['slashes of an address', (size) => `https://vpn.example.com${'/'.repeat(size)}x`, (url: string) => checkSettings({ ...settings, url })],
  [
    'a body',
    (size) => ({ list: Array.from({ length: size }, (_, index) => ({ a: index, b: true })) }),
    (body: never) => [toJsonText(body), withBooleanTexts(body)],
  ],
  [
    'a body in which things are in each other',
    (size) => JSON.parse(`${'['.repeat(size)}${']'.repeat(size)}`) as unknown,
    (body: unknown) => toJsonText(body),
  ],
  [
    'fields that there are not',
    (size) => Object.fromEntries(Array.from({ length: size }, (_, index) => [`f${index}`, 1])),
    (raw: never) => parseInput(anything, raw),
  ],
  // Of a filter, twice as many patterns and twice as many records are looked at apart.
  ['patterns of a filter: names', texts('active-user-name', (index) => `a${index}*b`), filtered],
  ['patterns of a filter: whole names', texts('active-user-name', (index) => `a${index}`), filtered],
  ['patterns of a filter: networks', texts('source-ip', (index) => `10.${(index >> 8) & 255}.${index & 255}.0/24`), filtered],
  ['patterns of a filter: networks of IPv6', texts('source-ip', (index) => `2001:db8:${(index & 65535).toString(16)}::/48`), filtered],
  ['patterns of a filter: roles', texts('user-roles', (index) => `Role ${index}`), filtered],
  ['asterisks of one pattern', (size) => ({ 'active-user-name': 'a*'.repeat(size) }), (filter: JsonObject) => filtered(filter)],
  [
    'a long name that nearly fits',
    (size) => 'a'.repeat(size),
    (name: string) => parseSessionFilter({ 'active-user-name': 'a*a*b' })({ 'active-user-name': name }),
  ],
  [
    'ids of sessions that end alike',
    (size) => Array.from({ length: size / AGAIN }, (_, index) => Buffer.from(`${index}-same-end`).toString('latin1')),
    seenAlike,
  ],
  // Masking.
  [
    'a text that is masked',
    (size) => 'no secret in sight. '.repeat(size),
    (text: string) => redactor(['a secret text', 'no', 'secrets']).text(text),
  ],
  ['a text of secrets', (size) => 'secret'.repeat(size), (text: string) => redactor(['secret', 'secre', 'tsec', 'a']).text(text)],
  [
    'a text of beginnings of a secret',
    (size) => 'a'.repeat(size),
    (text: string) => redactor([`${'a'.repeat(500)}b`, `${'a'.repeat(5000)}b`]).text(text),
  ],
  ['escapes', (size) => '%41%C3%A4&amp;\\u0041+%'.repeat(size), (text: string) => redactor(['secret text']).text(text)],
  ['escapes in escapes', (size) => '%2541\\\\u0041&amp;amp;+%26lt;'.repeat(size), (text: string) => redactor(['secret text']).text(text)],
  ['open escapes', (size) => '%&\\'.repeat(size), (text: string) => redactor(['secret text']).text(text)],
  ['a long secret', (size) => 'secret\n'.repeat(size), (secret: string) => redactor([secret]).text(`it was ${secret}`)],
  [
    'secrets that begin alike',
    (size) => Array.from({ length: size }, (_, index) => `${'a'.repeat(50)}${index}`),
    (secrets: string[]) => redactor(secrets).text(secrets.join('')),
  ],
  [
    'secrets of a body',
    (size) => ({ users: Array.from({ length: size }, (_, index) => ({ name: `u${index}`, password: `secret ${index}` })) }),
    (body: unknown) => redactor([]).with(findSecrets(body)).value(body),
  ],
  [
    'texts that are JSON',
    (size) => ({ list: Array.from({ length: size }, (_, index) => JSON.stringify({ a: index, password: `secret ${index}` })) }),
    (body: unknown) => redactor([]).with(findSecrets(body)).value(body),
  ],
  [
    'one text that is JSON in JSON',
    (size) => ({ body: JSON.stringify(JSON.stringify(Array.from({ length: size }, (_, index) => ({ a: index, token: 'x' })))) }),
    (body: unknown) => redactor([]).with(findSecrets(body)).value(body),
  ],
  [
    'a text that opens what it never closes',
    (size) => ({ body: '{"a":['.repeat(size) }),
    (body: unknown) => redactor([]).with(findSecrets(body)).value(body),
  ],
  [
    'things in each other below a secret',
    (size) => ({ password: JSON.parse(`${'['.repeat(size)}"a"${']'.repeat(size)}`) as unknown }),
    (body: unknown) => [...findSecrets(body)],
  ],
  [
    'names of fields',
    (size) => ({ [`${'A'.repeat(size)}`]: 'a', [`${'password-hash'.repeat(size)}-`]: 'a' }),
    (body: unknown) => [...findSecrets(body)],
  ],
];

describe('processing time is linear in the size of untrusted data:', () => {
  it('the test for linear time detects a reader with quadratic time', async () => {
    const inputs = [2, 4, 8, 16].map((thousand) => Array.from({ length: 1000 * thousand }, (_, index) => index));
    const read = (list: number[]): number => list.reduce((sum, one) => sum + list.indexOf(one), 0);
    expect(await middleOf(inputs, (list) => () => read(list as number[]), 2)).toBeGreaterThan(MAX_GROWTH);
  });

  for (const [what, make, read] of READERS) {
    it(what, { timeout: 120_000 }, async () => expect(await growth({ make, read })).toBeLessThanOrEqual(MAX_GROWTH));
  }
});

describe('a ZIP bomb', () => {
  const spaces = (bytes: number): string => `<configuration>${' '.repeat(bytes)}</configuration>`;
  const MIB = 1024 * 1024;

  it('a ZIP bomb is rejected with an error that names the unpacked size', async () => {
    const zip = writeZip({ 'a.xml': spaces(MIB), 'b.xml': spaces(MIB) });
    const entries = readZipDirectory(zip, zip.length) ?? [];
    const text = (): Readable => Readable.from([Buffer.from(zip.toString('base64'))]);
    const limit = { code: 'LIMIT', message: expect.stringContaining('more than 2 MiB') as string };
    await expect(computeBinaryFingerprint(text(), entries, [], 2 * MIB)).rejects.toMatchObject(limit);
    // Also where its directory says otherwise.
    const small = entries.map((entry) => ({ ...entry, size: 10 }));
    await expect(computeBinaryFingerprint(text(), small, [], 2 * MIB)).rejects.toMatchObject(limit);
    await expect(computeBinaryFingerprint(text(), small, [], 3 * MIB)).resolves.toMatch(/^[0-9a-f]{64}$/);
    await expect(computeBinaryFingerprint(text(), entries, ['b.xml'], 2 * MIB)).resolves.toMatch(/^[0-9a-f]{64}$/);
  });
});
