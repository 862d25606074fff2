// A script as people write them, with what the types have to refuse. Checked by tsc and by library-types.test.ts; never run.
import { Gateway, GatewayError, operations, type ErrorCode, type OperationName, type RunOutcome, type Settings } from '../../../src';

const settings: Settings = { url: 'https://vpn.example.com', realm: 'Admin Users', username: 'api', password: 'secret', timeout: 10 };
const gateway = new Gateway(settings);

export async function good(): Promise<void> {
  const { data: records, envelope } = await gateway.run('sessions.list', { name: 'j.doe' });
  const ids: unknown[] = records.map((record) => record['session-id']);
  const total: number = envelope.requests + ids.length;

  const killed = await gateway.run('sessions.kill-user', { name: 'j.doe', max: 5 }, { dryRun: true });
  const counts: number = killed.data.total - killed.data.failed + total;
  for (const result of killed.data.results) if ('error' in result) console.log(result.error.code, result.item, counts);

  const { data: result } = await gateway.run('config.update', { path: ['users', 'user-roles'], body: { description: 'x' } });
  console.log(result.result.warnings[0]?.message);

  // No field is required: no input, or an empty one, or options alone behind it.
  await gateway.run('system.info');
  await gateway.run('system.health', {}, AbortSignal.timeout(1000));
  // What is given is wider than what the operation gets: one name for a list, text for a number, a field that is undefined.
  await gateway.run('license.remove-named-users', { users: 'j.doe', 'client-kind': undefined });
  await gateway.run('sessions.kill-user', { name: 4711, max: '5' });
  await gateway.run('administrators.add-source-ip', { realm: 'A', address: '192.0.2.1', netmask: '255.255.255.255' });

  const streamed = await gateway.run('sessions.list', { emit: 'page' }, { onPart: (_data, { index }) => console.log(index) });
  const whole = streamed.data?.length;
  const state: 'ready' | 'pending' | 'none' = (await gateway.run('login.login')).data.state;
  const serial: string | null = (await gateway.run('backup.run', { folder: '/var/backups' })).data['serial-number'];
  console.log(whole, state, serial);

  // A name that is known only when it runs: plain input, data of any kind.
  const name: string = process.argv[2] ?? 'system.info';
  const outcome: RunOutcome = await gateway.run(name, { path: '/' });
  const known: OperationName = 'cluster.status';
  await gateway.run(known);
  console.log(outcome.data, operations.get(name)?.label);

  try {
    await gateway.run('cluster.failover');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const code: ErrorCode = error.code;
    console.log(code, error.cause?.status);
  }
}

export async function bad(): Promise<void> {
  // @ts-expect-error: there is no such operation
  await gateway.run('sessions.kil', { 'session-id': 'sid1' });
  // @ts-expect-error: the required field is missing
  await gateway.run('sessions.kill-user', {});
  // @ts-expect-error: so is the input
  await gateway.run('sessions.kill-user');
  // @ts-expect-error: no operation has that field
  await gateway.run('system.health', { statu: 'all' });
  // @ts-expect-error: not one of the choices
  await gateway.run('system.health', { status: 'some' });
  // @ts-expect-error: an object is no text
  await gateway.run('users.get', { server: 'System Local', username: { name: 'j.doe' } });
  // @ts-expect-error: not a number
  await gateway.run('sessions.kill-user', { name: 'j.doe', max: 'many' });
  // @ts-expect-error: that is no option
  await gateway.run('system.info', {}, { dryrun: true });
  // @ts-expect-error: a write gives its result, not the resource
  console.log((await gateway.run('config.update', { path: 'a', body: {} })).data.description);
  // @ts-expect-error: what streamed may have no data
  console.log((await gateway.run('sessions.list', { emit: 'page' }, { onPart: () => undefined })).data.length);
  // @ts-expect-error: no such setting
  new Gateway({ url: 'https://vpn.example.com', realms: 'Admin Users' });
  // @ts-expect-error: not a login that there is
  new Gateway({ url: 'https://vpn.example.com', login: 'saml' });
}
