import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { operations } from '../../src/areas';
import type { RunOptions } from '../../src/gateway/gateway';
import type { Field, Operation } from '../../src/model/operation';
import { processCoordination } from '../../src/model/process-coordination';
import type { Settings } from '../../src/model/settings';
import {
  simulatorCertificate,
  gatewayFor,
  startSimulatorWithGateway,
  withoutLoginProof,
  type AnyGateway,
} from '../helpers/simulated-appliance';
import { toEmittedText, findSecret, LEAKY_ANSWERS, createLeakyAnswer, generateSecret } from '../helpers/secret-encodings';
import { startRawServer } from '../helpers/raw-server';
import { useFastKeyDerivation } from '../helpers/cheap-keypair';
import { createTemporaryFolder as folder } from '../helpers/temporary';
import { resetAccounts, resetContainmentStores } from '../helpers/reset-process-state';

useFastKeyDerivation();
afterEach(() => {
  resetContainmentStores();
  resetAccounts();
  processCoordination.clear();
});

/** Of the settings; the key is one that a login gives. */
const OF_SETTINGS = {
  password: generateSecret(20, 2),
  proxy: generateSecret(20, 3),
  passphrase: generateSecret(20, 4),
  key: `${Buffer.from(generateSecret(11, 5)).toString('base64').slice(0, 43)}=`,
};
const NUMBER = 839_204_716_530;
const table = [...operations];

function textsBelow(path: string): string {
  if (!statSync(path).isDirectory()) return readFileSync(path, 'utf8');
  return readdirSync(path)
    .filter((name) => name !== 'undo')
    .map((name) => textsBelow(join(path, name)))
    .join('\n');
}

interface Planted {
  readonly input: Record<string, unknown>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Every secret that an operation's input can hold, at every position. */
function planted(operation: Operation, text: string): Planted[] {
  const { input } = operation.example;
  const ofFields = Object.fromEntries(Object.entries(operation.fields).flatMap(([name, { secret }]) => (secret ? [[name, text]] : [])));
  const nested = {
    password: text,
    'shared-secret': [text, { deeper: [text] }],
    inner: { 'password-cleartext': text, list: [{ apiKey: text }] },
    psk: NUMBER,
    pairs: [{ name: 'radius-secret', value: text }],
  };
  const holds = ({ kind }: Field): boolean => kind === 'object' || kind === 'content' || kind === 'records' || kind === 'names';
  const within = Object.fromEntries(
    Object.entries(operation.fields).flatMap(([name, field]) => {
      if (!holds(field) || field.editor === 'session-filter') return [];
      const before = typeof input[name] === 'object' && !Array.isArray(input[name]) ? input[name] : {};
      return [[name, { ...before, ...nested }]];
    }),
  );
  const inputs: Planted[] = [{ input: { ...input, ...ofFields }, secrets: Object.keys(ofFields).length > 0 ? { input: text } : {} }];
  if (Object.keys(within).length > 0)
    inputs.push({ input: { ...input, ...ofFields, ...within }, secrets: { input: text, number: String(NUMBER) } });
  return inputs;
}

/** Runs it, and gives all that came out: of a read that succeeds not the data, which is what was asked for. */
async function run(gateway: AnyGateway, name: string, input: Record<string, unknown>, options: RunOptions = {}): Promise<string> {
  const told: unknown[] = [];
  try {
    const { data, envelope } = await gateway.run(name, withoutLoginProof(name, input), {
      ...options,
      onProgress: (progress) => told.push(progress),
      approve: (proposal) => {
        told.push(proposal);
        return Promise.resolve({ by: null, at: '' });
      },
    });
    told.push(envelope, ...(operations.get(name)?.effect === 'read' ? [] : [data]));
  } catch (error) {
    told.push(error);
  }
  return told.map(toEmittedText).join('\n');
}

const settings = (more: Partial<Settings> = {}): Partial<Settings> => ({
  password: OF_SETTINGS.password,
  proxy: { url: 'http://127.0.0.1:9', username: 'p', password: OF_SETTINGS.proxy, noproxy: ['*'] },
  tls: { ca: simulatorCertificate.cert, passphrase: OF_SETTINGS.passphrase },
  connections: 16,
  log: true,
  ...more,
});

describe.each(Object.keys(LEAKY_ANSWERS))('an appliance that repeats every secret %s', (how) => {
  it('no operation shows a secret in any output, even if the appliance repeats every secret', { timeout: 300_000 }, async () => {
    const text = generateSecret(24, 7);
    const secrets = [text, String(NUMBER), ...Object.values(OF_SETTINGS)];
    const server = await startRawServer(createLeakyAnswer(how, OF_SETTINGS.key, secrets), { forwardsLogins: true });
    const journal = folder();
    const log: unknown[] = [];
    const gateway = gatewayFor(server, settings({ journal }), { onExchange: (exchange) => log.push(exchange, JSON.stringify(exchange)) });
    await gateway.run('login.login');
    const leaks: string[] = [];
    await Promise.all(
      table.map(async ([name, operation]) => {
        for (const { input, secrets: own } of planted(operation, text)) {
          // A read is the same without a dry run.
          for (const dryRun of operation.effect === 'read' ? [false] : [true, false]) {
            const leak = findSecret(await run(gateway, name, input, { dryRun }), { ...own, ...OF_SETTINGS });
            if (leak !== undefined) leaks.push(`${name}${dryRun ? ' (planned)' : ''}: ${leak}`);
          }
        }
      }),
    );
    expect(leaks).toEqual([]);
    const bundle = toEmittedText([(await gateway.run('system.support-bundle')).data, gateway.counters(), gateway.exchanges(), gateway]);
    const all = { text, number: String(NUMBER), ...OF_SETTINGS };
    expect(findSecret([...log.map(toEmittedText), bundle, textsBelow(journal)].join('\n'), all)).toBeUndefined();
    expect(log.length).toBeGreaterThan(50);
  });
});

describe('an appliance without faults', () => {
  it('no operation reveals a secret when the simulator injects no faults', { timeout: 300_000 }, async () => {
    const text = generateSecret(24, 8);
    const { gateway } = await startSimulatorWithGateway({ cluster: 'active-passive', password: OF_SETTINGS.password }, settings());
    const leaks: string[] = [];
    // In sequence, because some change what others read.
    for (const [name, operation] of table) {
      for (const { input, secrets } of planted(operation, text)) {
        const leak = findSecret(await run(gateway, name, input), { ...secrets, ...OF_SETTINGS });
        if (leak !== undefined) leaks.push(`${name}: ${leak}`);
      }
    }
    expect(leaks).toEqual([]);
  });
});

describe('a secret of %i characters', () => {
  const WRITES: [string, (text: string) => Record<string, unknown>][] = [
    ['users.create', (text) => ({ server: 'System Local', username: 'new.one', 'password-cleartext': text })],
    ['config.update', (text) => ({ path: 'users/user-roles/user-role/Users', body: { 'shared-secret': text, list: [{ token: text }] } })],
    ['request.post', (text) => ({ path: 'license/license-key', body: { a: { password: [text] } } })],
  ];

  it.each([1, 3, 8, 64, 511, 512, 513, 4096, 65_538, 262_152])(
    'a secret of %i characters is never shown by an operation',
    async (length) => {
      const text = generateSecret(length, length);
      const password = length > 4096 ? OF_SETTINGS.password : generateSecret(length, length + 1);
      for (const [at, how] of ['in the messages of a success', 'in a refusal', 'in half of JSON'].entries()) {
        const server = await startRawServer(createLeakyAnswer(how, OF_SETTINGS.key, length > 4096 ? [] : [text]), { forwardsLogins: true });
        const gateway = gatewayFor(server, settings({ password, timeout: 60 }));
        // A long secret takes long to look for: one write in each way then.
        for (const [name, input] of length > 1000 ? WRITES.slice(at, at + 1) : WRITES) {
          const text0 = await run(gateway, name, input(text));
          expect(findSecret(text0, { input: text, password, key: OF_SETTINGS.key }), `${name} ${how}`).toBeUndefined();
        }
        expect(findSecret(toEmittedText(gateway.exchanges()), { input: text, password })).toBeUndefined();
        gateway.close();
      }
    },
  );
});

describe('the search for secrets in the output', () => {
  it.each([1, 5, 24, 513, 100_000])('the search for secrets in the output finds a secret of %i characters in every form', (length) => {
    const secret = generateSecret(length, 9);
    expect(secret).toHaveLength(length);
    for (const text of [
      `a ${secret} b`,
      JSON.stringify({ a: secret }),
      toEmittedText({ a: secret }),
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64'),
      ...(length >= 24 ? [Buffer.from(`user:${secret}:`).toString('base64')] : []),
    ])
      // Of a long one in base64, where its parts begin is a matter of luck, but for the first.
      expect(findSecret(text, { secret }), text.slice(0, 40)).toBeDefined();
    expect(findSecret('an ordinary text', { secret })).toBeUndefined();
  });
});
