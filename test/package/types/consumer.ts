// A typical script, and mistakes that the types must reject. tsc and library-types.test.ts check it. It never runs.
import {
  Gateway,
  GatewayError,
  operations,
  Watcher,
  type BackupRecord,
  type ErrorCode,
  type NamedUser,
  type OperationName,
  type RunOutcome,
  type SessionRecord,
  type Settings,
  type UserRecord,
  type WatchEvent,
} from '../../../src';

const settings: Settings = { url: 'https://vpn.example.com', realm: 'Admin Users', username: 'api', password: 'secret', timeout: 10 };
const gateway = new Gateway(settings);

export async function good(): Promise<void> {
  const { data: records, envelope } = await gateway.run('sessions.list', { name: 'j.doe' });
  const ids: string[] = records.map((record: SessionRecord) => record['session-id']);
  const total: number = envelope.requests + ids.length;

  const killed = await gateway.run('sessions.kill-user', { name: 'j.doe', max: 5 }, { dryRun: true });
  const counts: number = killed.data.total - killed.data.failed + total;
  for (const result of killed.data.results) if ('error' in result) console.log(result.error.code, result.item, counts);

  const { data: result } = await gateway.run('config.update', { path: ['users', 'user-roles'], body: { description: 'x' } });
  console.log(result.result.warnings[0]?.message);

  const [user]: UserRecord[] = (await gateway.run('users.list', { server: 'System Local' })).data;
  const { data: leases } = await gateway.run('license.lease-info');
  const serverSerial: string | null | undefined = leases['leased-license-counts']?.['serial-number'];
  const namedUsers: readonly NamedUser[] = (await gateway.run('license.list-named-users')).data['named-users'] ?? [];
  const backups: readonly BackupRecord[] = (await gateway.run('backup.list', { folder: '/var/backups' })).data;
  const unknownField: unknown = user?.['user-timezone'];
  console.log(user?.username, serverSerial, namedUsers[0]?.User, backups[0]?.time, unknownField);

  const watcher = new Watcher(gateway, { watch: 'sessions', every: 60, onEvent: logEvent, onError: ({ code }) => console.error(code) });
  await watcher.close();

  // If no field is required, the input is optional.
  await gateway.run('system.info');
  await gateway.run('system.health', {}, AbortSignal.timeout(1000));
  // The input may have one name in place of a list, text in place of a number, and undefined fields.
  await gateway.run('license.remove-named-users', { users: 'j.doe', 'client-kind': undefined });
  await gateway.run('sessions.kill-user', { name: 4711, max: '5' });
  await gateway.run('administrators.add-source-ip', { realm: 'A', address: '192.0.2.1', netmask: '255.255.255.255' });

  const streamed = await gateway.run('sessions.list', { emit: 'page' }, { onPart: (_data, { index }) => console.log(index) });
  const whole = streamed.data?.length;
  const state: 'ready' | 'pending' | 'none' = (await gateway.run('login.login')).data.state;
  const serial: string | null = (await gateway.run('backup.run', { folder: '/var/backups' })).data['serial-number'];
  console.log(whole, state, serial);

  // For a name that is known only at run time, the input is a plain object and the data is unknown.
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

function logEvent(event: WatchEvent): void {
  if (event.topic === 'sessions/changed') console.log(event.payload.session['source-ip'], event.payload.before['source-ip']);
  else if (event.topic === 'license/above') console.log(event.payload.feature, event.payload.share + event.payload.limit);
  else if (event.topic === 'cluster/owner') console.log(event.payload.addresses.join());
  else if (event.topic === 'certificate/renewed') console.log(event.payload.before, event.payload.days);
  else if (event.topic === 'configuration/changed') console.log(event.payload.changed[0]?.after);
  else if (event.topic === 'health/unreachable') console.log(event.payload.code, event.payload.message);
  console.log(event.payload.event, event.payload.id, event.payload.at, event.envelope.appliance);
}

export function badEvent(event: WatchEvent): void {
  // @ts-expect-error: not every event has a session
  console.log(event.payload.session);
  // @ts-expect-error: a health watch does not report sessions
  console.log(event.topic === 'health/started');
  if (event.topic !== 'sessions/started') return;
  // @ts-expect-error: the user name can be missing
  console.log(event.payload.session['active-user-name'].length);
}

export async function bad(): Promise<void> {
  // @ts-expect-error: an unknown operation
  await gateway.run('sessions.kil', { 'session-id': 'sid1' });
  // @ts-expect-error: the required field is missing
  await gateway.run('sessions.kill-user', {});
  // @ts-expect-error: the required input is missing
  await gateway.run('sessions.kill-user');
  // @ts-expect-error: an unknown field
  await gateway.run('system.health', { statu: 'all' });
  // @ts-expect-error: not one of the choices
  await gateway.run('system.health', { status: 'some' });
  // @ts-expect-error: an object is not text
  await gateway.run('users.get', { server: 'System Local', username: { name: 'j.doe' } });
  // @ts-expect-error: not a number
  await gateway.run('sessions.kill-user', { name: 'j.doe', max: 'many' });
  // @ts-expect-error: an unknown option
  await gateway.run('system.info', {}, { dryrun: true });
  // @ts-expect-error: a write returns its result, not the resource
  console.log((await gateway.run('config.update', { path: 'a', body: {} })).data.description);
  // @ts-expect-error: a streaming run can have no data
  console.log((await gateway.run('sessions.list', { emit: 'page' }, { onPart: () => undefined })).data.length);
  // @ts-expect-error: an unknown setting
  new Gateway({ url: 'https://vpn.example.com', realms: 'Admin Users' });
  // @ts-expect-error: an unknown kind of login
  new Gateway({ url: 'https://vpn.example.com', login: 'saml' });
}
