import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../model/json';
import { encodePathSegment } from '../model/path';
import { CONFIGURATION_PATH } from './documented';
import type { LocalAuthServer } from './probe-tree';
import type { ProbeResponse, ProbeRunner } from './probe-runner';

const ROLES = `${CONFIGURATION_PATH}/users/user-roles/user-role`;
const LOGIN = '/api/v1/realm_auth';
/** Suffix that marks a second entry of the profile for the same path. */
const AGAIN = '#again';
/** Maximum number of requests to create an item, try all writes, and remove it. */
const MAX_REQUESTS_FOR_ITEM = 20;

/** A collection in which the check creates an item. */
interface Collection {
  /** The name of the collection for people, without names from the appliance. */
  readonly label: string;
  readonly path: string;
  readonly template: string;
  readonly keyField: string;
}

/** Creates a local user and a role, probes the responses to writes, and removes both. */
export async function probeWrites(prober: ProbeRunner, server: LocalAuthServer | undefined, realm: string | undefined): Promise<void> {
  if (realm !== undefined && realm !== '') await probeRefusedLogin(prober, realm);
  else prober.skip('wrongPasswordStatus', 'the login has no realm');
  if (server) await probeUser(prober, server);
  else prober.skip('writes of a local user', 'there is no local auth server that only users have');
  await probeRole(prober);
}

/** Logs in with a random name, so that no account is locked. */
async function probeRefusedLogin(prober: ProbeRunner, realm: string): Promise<void> {
  const credentials = { username: `conformance-${randomName()}`, password: randomBytes(12).toString('base64url') };
  const { status } = await prober.send({ template: LOGIN, method: 'POST', body: { realm }, credentials });
  if (status === 401 || status === 403) prober.found('wrongPasswordStatus', status);
}

async function probeUser(prober: ProbeRunner, server: LocalAuthServer): Promise<void> {
  const template = `${CONFIGURATION_PATH}/authentication/auth-servers/auth-server/*/local/users/user`;
  const path = template.replace('*', encodePathSegment(server.name));
  const label = `the local user (in auth server number ${server.position} of the list)`;
  const body = {
    fullname: 'first',
    'password-cleartext': `C0nf-${randomBytes(12).toString('base64url')}`,
    enabled: 'false',
    'console-access': 'false',
    'change-password-at-signin': 'false',
    'one-time-use': 'false',
  };
  await withItem(prober, { label, path, template, keyField: 'username' }, body, async (item) => {
    const before = await prober.get(`${template}/*`, { path: item });
    const update = await prober.send({ template: `${template}/*`, path: item, method: 'PUT', body: { fullname: 'second' } });
    readUpdate(prober, update);
    const after = await prober.get(`${template}/*`, { path: item });
    if (isCarriedOut(update)) readMerge(prober, before.document, after.document);
    await probeField(prober, template, item);
  });
}

function readMerge(prober: ProbeRunner, before: JsonObject, after: JsonObject): void {
  const isMerged = after['enabled'] === before['enabled'];
  prober.found('putMerges', isMerged);
  if (isMerged) readImplicitChange(prober, before, after, { fullname: 'second' });
}

async function probeField(prober: ProbeRunner, template: string, item: string): Promise<void> {
  const field = await prober.send({
    template: `${template}/*/fullname`,
    path: `${item}/fullname`,
    method: 'PUT',
    body: { fullname: 'third' },
  });
  if (isCarriedOut(field)) prober.note('One field can be written at its own path.');
  else
    prober.note(
      `A write of one field at its own path gets ${field.status}.`,
      'users.enable, users.disable and containment write one field.',
    );
  const flag = await prober.send({ template: `${template}/*/enabled`, path: `${item}/enabled`, method: 'PUT', body: { enabled: false } });
  prober.note(isCarriedOut(flag) ? 'A boolean is also accepted as true or false.' : 'Booleans are accepted as text only.');
}

async function probeRole(prober: ProbeRunner): Promise<void> {
  const collection = { label: 'the user role', path: ROLES, template: ROLES, keyField: 'name' };
  await withItem(prober, collection, {}, async (item) => {
    const before = await prober.get(`${ROLES}/*`, { path: item });
    const body = { description: 'written by a conformance check' };
    const update = await prober.send({ template: `${ROLES}/*`, path: item, method: 'PUT', body });
    const after = await prober.get(`${ROLES}/*`, { path: item });
    if (isCarriedOut(update) && prober.variants['putMerges'] === true) readImplicitChange(prober, before.document, after.document, body);
    await probeTags(prober, item, body);
    const whole = await prober.send({ template: `${ROLES}/*${AGAIN}`, path: item, method: 'PUT', body: after.document });
    if (isCarriedOut(whole)) prober.note('A resource can be written back as it was read, with its links.');
    else
      prober.note(
        `A resource that is written back with its links gets ${whole.status}.`,
        'config.ensure and snapshot.revert write links back.',
      );
  });
}

/** A write of the values that are there already, as if somebody else had changed them. */
async function probeTags(prober: ProbeRunner, item: string, body: JsonObject): Promise<void> {
  const reply = await prober.send({ template: `${ROLES}/*#other-tag`, path: item, method: 'PUT', body, ifMatch: '"conformance"' });
  if (isCarriedOut(reply)) prober.found('etags', false);
  else if (reply.status === 412 || reply.isSuccess) prober.found('etags', true);
  else prober.skip('etags', `a write with another tag got ${reply.status}`);
}

/** Creates an item, runs the probes, and removes the item whatever happens. */
async function withItem(
  prober: ProbeRunner,
  collection: Collection,
  values: JsonObject,
  work: (item: string) => Promise<void>,
): Promise<void> {
  const { path, template, keyField, label } = collection;
  if (prober.pacer.remaining < MAX_REQUESTS_FOR_ITEM) return prober.skip(`writes of ${label}`, 'too few requests are left');
  const name = `Conformance-${randomName()}`;
  const body = { [keyField]: name, ...values };
  let filedName = name;
  let mayExist = true;
  try {
    const created = await prober.send({ template, path, method: 'POST', body });
    mayExist = isCarriedOut(created) || created.status === 0 || created.status >= 500;
    if (!isCarriedOut(created)) {
      prober.skip(`writes of ${label}`, `its creation got ${created.status}`);
      return;
    }
    readCreation(prober, created);
    filedName = (await findName(prober, collection, name)) ?? name;
    if (filedName !== name)
      prober.note('A created item has another name than the one that was sent.', 'Writes find it under the new name.');
    const item = `${path}/${encodePathSegment(filedName)}`;
    await work(item);
    readRefusal(prober, await prober.send({ template: template + AGAIN, path, method: 'POST', body: { ...body, [keyField]: filedName } }));
  } finally {
    if (mayExist) await removeItem(prober, collection, filedName);
  }
}

async function removeItem(prober: ProbeRunner, collection: Collection, name: string): Promise<void> {
  const { path, template, label } = collection;
  const item = `${path}/${encodePathSegment(name)}`;
  const remove = (suffix: string): Promise<ProbeResponse> =>
    prober.cleanUp({ template: `${template}/*${suffix}`, path: item, method: 'DELETE' });
  const removed = await remove('');
  if (isCarriedOut(removed)) {
    readContentType(prober, removed);
    readEnvelope(prober, removed);
    if (removed.status === 200 || removed.status === 204) prober.found('deleteStatus', removed.status);
  }
  const again = await remove(AGAIN);
  const gone = await prober.cleanUp({ template: `${template}/*#removed`, path: item, method: 'GET' });
  // An appliance may file a name in another case, so that a read by the sent name gets 404 although the item exists.
  const listed = gone.status === 404 ? await findListedName(prober, collection, name) : undefined;
  if (listed !== undefined && listed !== name) return removeItem(prober, collection, listed);
  if (gone.status === 404 && listed === undefined) {
    prober.note(`${label[0]?.toUpperCase()}${label.slice(1)} is removed: a read gets 404, a second DELETE ${again.status}.`);
    return;
  }
  prober.leftBehind.push(
    `${label} named ${name}: the DELETE got ${removed.status || 'no response'}, a read ${gone.status || 'no response'}`,
  );
}

/** Returns the listed name of the item, whatever its case. */
async function findName(prober: ProbeRunner, { path, template }: Collection, name: string): Promise<string | undefined> {
  const item = await prober.get(`${template}/*`, { path: `${path}/${encodePathSegment(name)}` });
  if (item.isSuccess) return name;
  return nameInList(await prober.get(template, { path }), name);
}

/** Finds the name of the created item, also after the check was canceled. */
async function findListedName(prober: ProbeRunner, { path, template }: Collection, name: string): Promise<string | undefined> {
  return nameInList(await prober.cleanUp({ template: `${template}#removed`, path, method: 'GET' }), name);
}

function nameInList({ document }: ProbeResponse, name: string): string | undefined {
  const list = Object.values(document).find((value) => Array.isArray(value)) as readonly unknown[] | undefined;
  const names = (list ?? []).map((entry) => (isObject(entry) ? (entry['name'] ?? entry['username']) : entry));
  return names.find((one): one is string => typeof one === 'string' && one.toLowerCase() === name.toLowerCase());
}

function readCreation(prober: ProbeRunner, created: ProbeResponse): void {
  readContentType(prober, created);
  readEnvelope(prober, created);
  if ([200, 201, 204].includes(created.status)) prober.found('createStatus', created.status);
}

function readUpdate(prober: ProbeRunner, update: ProbeResponse): void {
  if (!isCarriedOut(update)) return;
  readContentType(prober, update);
  if ([200, 201, 204].includes(update.status)) prober.found('updateStatus', update.status);
}

function readContentType(prober: ProbeRunner, { status, contentType }: ProbeResponse): void {
  if (status === 204) prober.found('noContentType', contentType.startsWith('application/json'));
}

/** Returns the result envelope of a success. */
function readEnvelope(prober: ProbeRunner, { document }: ProbeResponse): void {
  const { result } = document;
  if (!isObject(result)) return;
  const [info, warnings] = [listOf(result, 'info'), listOf(result, 'warnings')];
  prober.found(
    'allLists',
    ['info', 'warnings', 'errors'].every((name) => Array.isArray(result[name])),
  );
  prober.found('warningsOnly', warnings.length > 0 && info.length === 0);
  const text = String(isObject(info[0]) ? info[0]['message'] : '');
  if (text.startsWith('Operation succeeded')) prober.found('successText', 'short');
  else if (text.startsWith('The operation succeeded')) prober.found('successText', 'long');
}

function readRefusal(prober: ProbeRunner, refused: ProbeResponse): void {
  if (isCarriedOut(refused)) {
    prober.note('A second creation with the same name succeeds.', 'users.create and config.create may overwrite an item.');
    return;
  }
  prober.found('errorsInSuccess', refused.isSuccess);
  if (refused.status !== 422 && !refused.isSuccess)
    prober.note(`A second creation with the same name gets ${refused.status} instead of 422.`);
}

/** Returns a field that the appliance changed by itself. */
function readImplicitChange(prober: ProbeRunner, before: JsonObject, after: JsonObject, sent: JsonObject): void {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...keys].find((key) => {
    const expected = sent[key] ?? before[key];
    return JSON.stringify(after[key]) !== JSON.stringify(expected);
  });
  if (changed !== undefined) prober.changedField = changed;
  else if (prober.changedField === undefined) prober.found('changesField', '');
}

function listOf(result: JsonObject, name: string): readonly unknown[] {
  const list = result[name];
  return Array.isArray(list) ? list : [];
}

/** Whether a response is a success without errors in its envelope. */
function isCarriedOut({ isSuccess, document }: ProbeResponse): boolean {
  const { result } = document;
  return isSuccess && !(isObject(result) && listOf(result, 'errors').length > 0);
}

function randomName(): string {
  return randomBytes(4).toString('hex');
}
