import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { areas } from '../../src/areas';
import { NodeRedHarness, type NodeDefinition } from '../helpers/node-red';

const RUNS = { numRuns: Number(process.env['GATEWAY_RUNS'] ?? 8), seed: Number(process.env['GATEWAY_SEED'] ?? 20_261_121) };

const text = fc.oneof(
  fc.constantFrom('', ' ', '0', '-1', 'true', '${GATEWAY_TEST_UNSET}', '${HOME}', 'msg', 'payload.x', '__proto__', '[', '{', '\u0000'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.boolean(),
  fc.constantFrom(null, undefined, 0, -1, Infinity, NaN, 25, [], {}, [null], { type: 'msg' }),
  fc.dictionary(text, fc.dictionary(text, text, { maxKeys: 2 }), { maxKeys: 2 }),
);
/** All but places on this machine, and addresses. */
const PROPERTIES = [
  ...['name', 'appliance', 'applianceFrom', 'operation', 'operationType', 'fields', 'output', 'failures', 'dryRun', 'allowDestroy'],
  ...['approval', 'approvalMinutes', 'every', 'inventory', 'select', 'atOnce', 'canary', 'batch', 'maxFailures', 'maxAppliances', 'each'],
];
const APPLIANCE = [
  ...['name', 'login', 'realm', 'secondFactor', 'timeout', 'transferTimeout', 'connections', 'vendor', 'brand', 'dryRun', 'tls', 'proxy'],
  ...['pin', 'permissions', 'rate', 'waiting'],
];
/** As a flow file holds it: JSON, of which Node-RED takes no such key. */
const some = (names: readonly string[]): fc.Arbitrary<NodeDefinition> =>
  fc
    .record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })
    .map((definition) => JSON.parse(JSON.stringify(definition).replaceAll('"__proto__":', '"proto":')) as NodeDefinition);
const payload = fc.oneof(value, fc.jsonValue({ maxDepth: 2 }));

const unhandled: unknown[] = [];
const note = (fault: unknown): void => void unhandled.push(fault);
const rig = new NodeRedHarness('node-red', { sessions: 3 });
beforeAll(async () => {
  process.on('unhandledRejection', note);
  await rig.start();
});
afterEach(async () => {
  await rig.reset();
  expect(unhandled.splice(0)).toEqual([]);
});
afterAll(async () => {
  process.off('unhandledRejection', note);
  await rig.stop();
});

describe.each(areas.map(({ name, operations }) => ({ area: name, operations: Object.keys(operations) })))('gateway-$area', (given) => {
  const { area, operations } = given;

  it('every message to gateway-$area has exactly one outcome, whatever the properties of the node and its appliance', async () => {
    const operation = fc.constantFrom(...operations);
    await fc.assert(
      fc.asyncProperty(operation, some(PROPERTIES), some(APPLIANCE), fc.boolean(), payload, async (known, odd, appliance, both, came) => {
        try {
          await rig.deploy({ nodes: [{ type: `gateway-${area}`, operation: known, dryRun: true, ...odd }], ...(both && { appliance }) });
          const { out, failed, caught, completed } = await rig.run({ payload: came });
          expect([out.length + failed.length + caught.length, completed + caught.length]).toEqual([1, 1]);
        } finally {
          await rig.reset();
        }
      }),
      RUNS,
    );
  });
});
