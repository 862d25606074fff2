import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { areas } from '../../../src/areas';
import { simulatorCertificate } from '../../helpers/simulated-appliance';
import { findSecret, createLeakyAnswer, generateSecret } from '../../helpers/secret-encodings';
import { startRawServer } from '../../helpers/raw-server';
import { NodeRedHarness, type NodeDefinition, type Runtime } from '../../helpers/node-red';
import { useFastKeyDerivation } from '../../helpers/cheap-keypair';

const SECRETS = {
  field: generateSecret(24, 11),
  password: generateSecret(24, 12),
  body: generateSecret(24, 13),
  key: 'c2VjcmV0K2tleS9vZitmb3J0eStmb3VyK2NoYXJhY3Rl',
};

/** One node for each operation: secrets of its fields in its credentials, one under a secret's name in its body. */
function nodesOfAll(): { nodes: NodeDefinition[]; credentials: Record<string, Record<string, string>> } {
  const nodes: NodeDefinition[] = [];
  const credentials: Record<string, Record<string, string>> = {};
  for (const area of areas) {
    for (const [name, { fields, example, effect }] of Object.entries(area.operations)) {
      // The rig asks for one of that name.
      const id = nodes.length === 0 ? 'n1' : `${area.name}-${name}`;
      const typed: Record<string, { type: string; value: string }> = {};
      for (const [field, value] of Object.entries(example.input)) {
        const isBody = fields[field]?.kind === 'object' && fields[field].editor !== 'session-filter';
        typed[field] = { type: 'json', value: JSON.stringify(isBody ? { ...(value as object), 'shared-secret': [SECRETS.body] } : value) };
        if (typeof value === 'string') typed[field] = { type: 'str', value };
      }
      for (const [field, { secret }] of Object.entries(fields)) if (secret) typed[field] = { type: 'cred', value: '' };
      credentials[id] = Object.fromEntries(Object.keys(typed).map((field) => [field, SECRETS.field]));
      nodes.push({
        id,
        type: `gateway-${area.name}`,
        name: id,
        operation: name,
        fields: typed,
        failures: nodes.length % 2 === 0 ? 'output' : 'catch',
        approval: false,
        // Half of what writes is planned.
        dryRun: effect !== 'read' && nodes.length % 4 === 0,
      });
    }
  }
  return { nodes, credentials };
}

/** Nothing that leaves our nodes has a secret in it: messages, errors, statuses, and the log at every level. */
export function secretsSuite(runtime: Runtime): void {
  useFastKeyDerivation();
  const rig = new NodeRedHarness(runtime);
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  it.each(['in the messages of a success', 'in a refusal', 'in half of JSON'])(
    'the nodes emit no secret that an appliance repeats %s',
    { timeout: 120_000 },
    async (how) => {
      const server = await startRawServer(
        createLeakyAnswer(how, SECRETS.key, [SECRETS.password, SECRETS.key], [SECRETS.field, SECRETS.body]),
        { forwardsLogins: true },
      );
      const { nodes, credentials } = nodesOfAll();
      await rig.deploy({
        nodes,
        appliance: { url: server.url, log: true },
        credentials: {
          ...credentials,
          a1: { username: 'api-admin', password: SECRETS.password },
          tls1: { cadata: simulatorCertificate.cert },
        },
      });
      for (const { id } of nodes) {
        const node = rig.node(id as string) as unknown as { metric: (event?: string) => unknown };
        node.metric = (event) => event === undefined;
      }
      const outcomes = await Promise.all(nodes.map(({ id }) => rig.run({ _msgid: `m-${String(id)}`, payload: {} }, id as string)));
      for (const { completed, caught } of outcomes) expect(completed + caught.length).toBe(1);
      expect(findSecret(rig.emitted(), SECRETS)).toBeUndefined();
    },
  );
}
