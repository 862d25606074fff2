import { type JsonObject } from './fields';
import { type Reply, Refusal, json, written } from './reply';
import type { Call, Router } from './router';
import { policyNumber } from './seed/large-tree';
import { type Collection, Resource, entries, plan, view } from './tree';
import { encodeSegment } from './url';
import type { Variants } from './variants';

/** GET, POST, PUT and DELETE over the tree (appliance-api.md, "Generic configuration tree" and "Method semantics"). */
const ROOT = '/api/v1/configuration';
const ESAPS = 'authentication/endpoint/host-checker/esaps';

type Place =
  | { kind: 'resource'; resource: Resource; in?: Collection; name: string }
  | { kind: 'collection'; collection: Collection; name: string }
  | { kind: 'field'; resource: Resource; field: string }
  | { kind: 'vacant'; in: Collection; name: string }
  | { kind: 'missing' };

function locate(root: Resource, segments: readonly string[]): Place {
  let place: Place = { kind: 'resource', resource: root, name: 'configuration' };
  for (const segment of segments) {
    if (place.kind === 'resource') {
      const child = place.resource.children.get(segment);
      if (child instanceof Resource) place = { kind: 'resource', resource: child, name: segment };
      else if (child) place = { kind: 'collection', collection: child, name: segment };
      else if (Object.hasOwn(place.resource.shape, segment)) place = { kind: 'field', resource: place.resource, field: segment };
      else return { kind: 'missing' };
    } else if (place.kind === 'collection') {
      const collection: Collection = place.collection;
      const item = collection.items.get(segment);
      place = item
        ? { kind: 'resource', resource: item, in: collection, name: segment }
        : { kind: 'vacant', in: collection, name: segment };
    } else return { kind: 'missing' };
  }
  return place;
}

const pathOf = (call: Call): string[] => call.segments.slice(3);
const hrefOf = (path: readonly string[]): string => [ROOT, ...path.map(encodeSegment)].join('/');

function notThere(call: Call): Refusal {
  return new Refusal(404, `The resource ${hrefOf(pathOf(call))} does not exist.`);
}

function locateCall(call: Call): Place {
  return locate(call.state.configuration, pathOf(call));
}

function get(call: Call): Reply {
  const path = pathOf(call);
  const { variants } = call.state;
  refuseForbidden(path, variants.forbiddenBranch);
  vanish(call, path);
  const place = locateCall(call);
  if (path.join('/') === ESAPS && place.kind === 'resource') return esaps(call, place.resource);
  refuseQuery(call, []);
  switch (place.kind) {
    case 'resource':
      return json(view(place.resource, hrefOf(path), variants));
    case 'collection':
      if (variants.usersAt === 'users' && place.collection.key === 'username') throw notThere(call);
      return json({ [place.name]: entries(place.collection, hrefOf(path), variants) });
    case 'field': {
      const value = place.resource.values.get(place.field);
      if (value === undefined || place.resource.shape[place.field]?.secret) throw notThere(call);
      return json({ [place.field]: value });
    }
    case 'vacant':
    case 'missing':
      throw notThere(call);
  }
}

function refuseForbidden(path: readonly string[], branch: string): void {
  if (branch !== '' && `${path.join('/')}/`.startsWith(`${branch}/`)) throw new Refusal(403, 'You are not allowed to read this resource.');
}

/** What somebody else removes between the list that links it and the link that is followed. */
function vanish({ state }: Call, path: readonly string[]): void {
  const every = state.variants.vanishing;
  const number = every > 0 ? policyNumber(path.at(-1) ?? '') : undefined;
  if (number === undefined || number % every !== 0) return;
  const place = locate(state.configuration, path);
  if (place.kind === 'resource') place.in?.items.delete(place.name);
}

/** `?expand&&exclude<Brand>Packages`: expand gives the packages instead of links, exclude leaves out those that came with the release. */
function esaps(call: Call, resource: Resource): Reply {
  const exclude = `exclude${call.state.settings.brand}Packages`;
  refuseQuery(call, ['expand', exclude]);
  for (const [key, value] of call.query) if (value !== undefined) throw new Refusal(400, `The query flag ${key} takes no value`);
  const shown = view(resource, hrefOf(pathOf(call)), call.state.variants, call.query.has('expand'));
  if (call.query.has(exclude) && Array.isArray(shown.esap)) {
    const kept = [...resource.collection('esap').items.values()].map((item) => item.values.get('bundled') !== true);
    shown.esap = shown.esap.filter((_, index) => kept[index]);
  }
  return json(shown);
}

function refuseQuery(call: Call, allowed: readonly string[]): void {
  for (const key of call.query.keys()) if (!allowed.includes(key)) throw new Refusal(400, `Unknown query key ${key}`);
}

function keyIn(body: JsonObject, collection: Collection): string {
  const key = body[collection.key];
  if (typeof key !== 'string' || key === '') throw new Refusal(422, `Validation failed: ${collection.key} is missing or not a string`);
  return key;
}

function create(collection: Collection, name: string, body: JsonObject): void {
  const item = collection.make(body);
  plan(item, { ...body, [collection.key]: name }, false)();
  collection.items.set(name, item);
}

/** What an appliance changes by itself after a write, if anything. */
function implicitly(resource: Resource | undefined, variants: Variants): boolean {
  const field = variants.changesField;
  if (field === '' || !resource || !Object.hasOwn(resource.shape, field)) return false;
  resource.values.set(field, 'set by the appliance');
  return true;
}

function modify(call: Call, resource: Resource, body: JsonObject, within?: { collection: Collection; name: string }): void {
  if (Object.keys(body).length === 0) throw new Refusal(422, 'Validation failed: the body holds no field');
  const key = within && body[within.collection.key];
  if (key !== undefined && key !== within?.name) throw new Refusal(422, `Validation failed: ${within?.collection.key} can't be changed`);
  const change = plan(resource, body, true);
  if (within && !call.state.variants.putMerges) reset(resource, within.collection, body);
  change();
}

/** What the body does not name has its default again; a password, which nobody can read and send back, stays. */
function reset(resource: Resource, { key, make }: Collection, body: JsonObject): void {
  const fresh = make(body);
  for (const name of [...resource.values.keys()].filter((one) => one !== key)) {
    if (Object.hasOwn(body, name) || resource.shape[name]?.secret) continue;
    const value = fresh.values.get(name);
    if (value === undefined) resource.values.delete(name);
    else resource.values.set(name, value);
  }
}

function post(call: Call): Reply {
  refuseQuery(call, []);
  const place = locateCall(call);
  if (place.kind === 'missing' || place.kind === 'vacant') throw notThere(call);
  if (place.kind !== 'collection') throw new Refusal(400, 'POST creates an item of a collection; this path is not one');
  const name = keyIn(call.body, place.collection);
  if (place.collection.items.has(name)) throw new Refusal(422, `The resource ${hrefOf([...pathOf(call), name])} already exists.`);
  create(place.collection, name, call.body);
  return written(call.state.variants, call.state.variants.createStatus);
}

function put(call: Call): Reply {
  refuseQuery(call, []);
  const place = locateCall(call);
  switch (place.kind) {
    case 'missing':
      throw notThere(call);
    case 'resource':
      modify(call, place.resource, call.body, place.in && { collection: place.in, name: place.name });
      break;
    case 'vacant':
      if ((call.body[place.in.key] ?? place.name) !== place.name)
        throw new Refusal(422, `Validation failed: ${place.in.key} differs from the path`);
      create(place.in, place.name, call.body);
      break;
    case 'collection': {
      const name = keyIn(call.body, place.collection);
      const item = place.collection.items.get(name);
      if (item) modify(call, item, call.body, { collection: place.collection, name });
      else create(place.collection, name, call.body);
      break;
    }
    case 'field':
      if (Object.keys(call.body).join() !== place.field)
        throw new Refusal(422, `Validation failed: the body must be an object with ${place.field} alone`);
      modify(call, place.resource, call.body);
      break;
  }
  const after = locateCall(call);
  const resource = after.kind === 'resource' || after.kind === 'field' ? after.resource : undefined;
  return written(call.state.variants, call.state.variants.updateStatus, implicitly(resource, call.state.variants));
}

function remove(call: Call): Reply {
  refuseQuery(call, []);
  const place = locateCall(call);
  if (place.kind === 'missing' || place.kind === 'vacant') throw notThere(call);
  if (place.kind !== 'resource' || !place.in) throw new Refusal(400, 'Only an item of a collection can be deleted');
  const used = place.in.usedBy(place.name);
  if (used !== undefined) throw new Refusal(422, used);
  place.in.items.delete(place.name);
  return written(call.state.variants, call.state.variants.deleteStatus);
}

export function configurationRoutes(router: Router): void {
  router.add('GET', 'configuration/**', get, { query: 'any' });
  router.add('POST', 'configuration/**', post, { query: 'any', body: 'json' });
  router.add('PUT', 'configuration/**', put, { query: 'any', body: 'json' });
  router.add('DELETE', 'configuration/**', remove, { query: 'any' });
}
