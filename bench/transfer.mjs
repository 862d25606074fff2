// Throughput, memory and stalls of large exports and imports, against curl in the same run, on loopback.
//   node bench/transfer.mjs [GiB, default 1] [rounds, default 3] [folder, default a new one in the temporary folder]
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const gib = Number(process.argv[2] ?? 1);
const rounds = Number(process.argv[3] ?? 3);
const folder = mkdtempSync(join(process.argv[4] ?? tmpdir(), 'transfer-'));
const here = (name) => join(import.meta.dirname, name);
const server = fork(here('transfer-server.mjs'), [String(gib * 2 ** 30)]);
const [{ port, ca }] = await once(server, 'message');
const url = `https://127.0.0.1:${port}`;
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, ca);

const EXPORT_XML = `${url}/api/v1/system/maintenance/export-xml`;
const IMPORT_XML = `${url}/api/v1/system/maintenance/import-xml`;
const BINARY = `${url}/api/v1/system/binary-configuration`;
const at = (name) => join(folder, name);

async function curl(...args) {
  const started = performance.now();
  await run('curl', ['-sS', '--fail', '--cacert', caFile, '-u', 'key:', '-H', 'Expect:', ...args]);
  return { seconds: (performance.now() - started) / 1000 };
}

async function ours(operation, input) {
  const { stdout } = await run(process.execPath, [here('transfer-client.mjs'), JSON.stringify({ url, ca, operation, input })]);
  return JSON.parse(stdout);
}

const json = ['-X', 'POST', '-H', 'content-type: application/json', '-d', '{}'];
const cases = [
  ['export XML: curl -o', () => curl(...json, '-o', at('curl.xml'), EXPORT_XML)],
  ['export XML, check: none', () => ours('transfer.export-xml', { file: at('a.xml'), check: 'none' }), 0, 1.3],
  ['export XML, checked and hashed', () => ours('transfer.export-xml', { file: at('a.xml') }), 0],
  ['export binary: curl -o', () => curl(...json, '-o', at('curl.bin'), BINARY)],
  ['export binary, check: none', () => ours('transfer.export-binary', { file: at('a.bin'), check: 'none' }), 3, 1.3],
  ['export binary, checked and hashed', () => ours('transfer.export-binary', { file: at('a.bin') }), 3, 2.5],
  ['import XML: curl -F', () => curl('-F', `file=@${at('curl.xml')};type=text/xml`, IMPORT_XML)],
  ['import XML from file', () => ours('transfer.import-xml', { file: at('curl.xml') }), 6, 1.3],
  ['import binary: curl -T', () => curl('-X', 'PUT', '-T', at('curl.bin'), '-H', 'content-type: text/html; charset=utf-8', BINARY)],
  ['import binary from file', () => ours('transfer.import-binary', { file: at('curl.bin') }), 8, 1.3],
];

const samples = cases.map(() => []);
try {
  for (let round = 0; round < rounds; round++) {
    for (const [index, [, measure]] of cases.entries()) {
      samples[index].push(await measure());
      // The written data of one contender must not slow down the next.
      for (const name of ['a.xml', 'a.bin']) rmSync(at(name), { force: true });
    }
  }
  const mib = { xml: statSync(at('curl.xml')).size / 2 ** 20, bin: statSync(at('curl.bin')).size / 2 ** 20 };
  console.log(`Node.js ${process.version}, ${gib} GiB, medians of ${rounds} (ratios: median of the rounds' own)\n`);
  console.log('| | s | MB/s | CPU s | × curl | wanted | grown MiB | stall ms |\n|---|---|---|---|---|---|---|---|');
  for (const [index, [label, , base, wanted]] of cases.entries()) {
    const of = (key) => median(samples[index].map((sample) => sample[key]));
    const ratio =
      base === undefined ? '' : median(samples[index].map(({ seconds }, round) => seconds / samples[base][round].seconds)).toFixed(2);
    const most = (key) => Math.max(...samples[index].map((sample) => sample[key])).toFixed(0);
    const size = label.includes('binary') ? mib.bin : mib.xml;
    const own = base === undefined ? ['', '', '', ''] : [ratio, wanted ? `≤ ${wanted}` : '', most('grown'), most('stall')];
    const cpu = base === undefined ? '' : of('cpu').toFixed(2);
    console.log(
      `| ${label} | ${of('seconds').toFixed(2)} | ${((size * 1.048576) / of('seconds')).toFixed(0)} | ${cpu} | ${own.join(' | ')} |`,
    );
  }
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
