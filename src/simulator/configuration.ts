import { createHash, randomUUID } from 'node:crypto';
import { type JsonObject } from './body-shape';
import { type Reply, Refusal, jsonReply, successReply } from './reply';
import type { ApiRequest, Router } from './router';
import { parsePolicyNumber } from './seed/large-tree';
import { createPart, deletePart, openEmptyCollection } from './copy/change-copy';
import { Collection, Resource, renderEntries, planUpdate, renderResource } from './tree';
import { encodePathSegment } from './url';
import type { Variants } from './variants';

/** GET, POST, PUT and DELETE over the tree (appliance-api.md, "Generic configuration tree" and "Method semantics"). */
const ROOT = '/api/v1/configuration';
const ESAPS = 'authentication/endpoint/host-checker/esaps';

type TreeLocation =
  | { kind: 'resource'; resource: Resource; in?: Collection; name: string }
  | { kind: 'collection'; collection: Collection; name: string }
  | { kind: 'field'; resource: Resource; field: string }
  | { kind: 'vacant'; in: Collection; name: string }
  | { kind: 'missing' };

function findLocation(root: Resource, segments: readonly string[]): TreeLocation {
  let location: TreeLocation = { kind: 'resource', resource: root, name: 'configuration' };
  for (const segment of segments) {
    if (location.kind === 'resource') {
      const child = location.resource.children.get(segment);
      if (child instanceof Resource) location = { kind: 'resource', resource: child, name: segment };
      else if (child) location = { kind: 'collection', collection: child, name: segment };
      else if (location.resource.hasField(segment)) location = { kind: 'field', resource: location.resource, field: segment };
      else return { kind: 'missing' };
    } else if (location.kind === 'collection') {
      const collection: Collection = location.collection;
      const item = collection.items.get(segment);
      location = item
        ? { kind: 'resource', resource: item, in: collection, name: segment }
        : { kind: 'vacant', in: collection, name: segment };
    } else return { kind: 'missing' };
  }
  return location;
}

const readPath = (request: ApiRequest): string[] => request.segments.slice(3);
const toHref = (path: readonly string[]): string => [ROOT, ...path.map(encodePathSegment)].join('/');

function createNotFound(request: ApiRequest): Refusal {
  return new Refusal(404, `The resource ${toHref(readPath(request))} does not exist.`);
}

function findCallLocation(request: ApiRequest): TreeLocation {
  return findLocation(request.state.configuration, readPath(request));
}

function get(request: ApiRequest): Reply {
  const path = readPath(request);
  const { variants } = request.state;
  refuseForbidden(path, variants.forbiddenBranch);
  removeVanishing(request, path);
  const location = findCallLocation(request);
  if (path.join('/') === ESAPS && location.kind === 'resource') return getEsaps(request, location.resource);
  refuseQuery(request, []);
  switch (location.kind) {
    case 'resource':
      return jsonReply(renderResource(location.resource, toHref(path), variants));
    case 'collection':
      if (variants.usersAt === 'users' && location.collection.keyField === 'username') throw createNotFound(request);
      return jsonReply({
        [location.name]: renderEntries(location.collection, toHref(path), variants),
        ...location.collection.fields,
      });
    case 'field': {
      const value = location.resource.values.get(location.field);
      if (value === undefined || location.resource.isSecret(location.field)) throw createNotFound(request);
      return jsonReply({ [location.field]: value });
    }
    case 'vacant':
    case 'missing':
      throw createNotFound(request);
  }
}

function getTagged(request: ApiRequest): Reply {
  const reply = get(request);
  return request.state.variants.etags ? { ...reply, headers: { etag: toEtag(reply, request) } } : reply;
}

function toEtag({ body = '' }: Reply, { state: { variants } }: ApiRequest): string {
  const salt = variants.etagPerResponse ? randomUUID() : '';
  return `"${createHash('sha256').update(body).update(salt).digest('hex').slice(0, 16)}"`;
}

/** RFC 9110: without a current representation, no tag matches. */
function refuseOtherTag(request: ApiRequest): void {
  const wanted = request.headers['if-match'];
  if (!request.state.variants.etags || wanted === undefined) return;
  let current = '';
  try {
    current = toEtag(get(request), request);
  } catch {
    // The resource is gone.
  }
  if (current !== wanted) throw new Refusal(412, 'The resource has another ETag.');
}

function refuseForbidden(path: readonly string[], branch: string): void {
  if (branch !== '' && `${path.join('/')}/`.startsWith(`${branch}/`)) throw new Refusal(403, 'You are not allowed to read this resource.');
}

/** A resource that somebody else removes after it was listed and before its link is followed. */
function removeVanishing({ state }: ApiRequest, path: readonly string[]): void {
  const interval = state.variants.vanishing;
  const number = interval > 0 ? parsePolicyNumber(path.at(-1) ?? '') : undefined;
  if (number === undefined || number % interval !== 0) return;
  const location = findLocation(state.configuration, path);
  if (location.kind === 'resource') location.in?.items.delete(location.name);
}

/** `?expand&&exclude<Brand>Packages`: expand returns packages instead of links, exclude leaves out the packages of the release. */
function getEsaps(request: ApiRequest, resource: Resource): Reply {
  const exclude = `exclude${request.state.settings.brand}Packages`;
  refuseQuery(request, ['expand', exclude]);
  for (const [key, value] of request.query) if (value !== undefined) throw new Refusal(400, `The query flag ${key} takes no value`);
  const rendered = renderResource(resource, toHref(readPath(request)), request.state.variants, request.query.has('expand'));
  if (request.query.has(exclude) && Array.isArray(rendered.esap)) {
    const packages = resource.children.get('esap');
    const items = packages instanceof Collection ? [...packages.items.values()] : [];
    const isKept = items.map((item) => item.values.get('bundled') !== true);
    rendered.esap = rendered.esap.filter((_, index) => isKept[index]);
  }
  return jsonReply(rendered);
}

function refuseQuery(request: ApiRequest, allowed: readonly string[]): void {
  for (const key of request.query.keys()) if (!allowed.includes(key)) throw new Refusal(400, `Unknown query key ${key}`);
}

function readItemKey(body: JsonObject, collection: Collection): string {
  const key = body[collection.keyField];
  if (typeof key === 'number') return String(key);
  if (typeof key !== 'string' || key === '') throw new Refusal(422, `Validation failed: ${collection.keyField} is missing or not a string`);
  return key;
}

function create(collection: Collection, name: string, body: JsonObject): void {
  const item = collection.createItem(body);
  planUpdate(item, { ...body, [collection.keyField]: body[collection.keyField] ?? name }, false)();
  collection.items.set(name, item);
}

/** The change that the appliance makes itself after a write, if any. */
function applyImplicitChange(resource: Resource | undefined, variants: Variants): boolean {
  const field = variants.changesField;
  if (field === '' || !resource || !resource.hasField(field)) return false;
  resource.values.set(field, 'set by the appliance');
  return true;
}

function modify(request: ApiRequest, resource: Resource, body: JsonObject, container?: { collection: Collection; name: string }): void {
  if (Object.keys(body).length === 0) throw new Refusal(422, 'Validation failed: the body holds no field');
  const key = container && body[container.collection.keyField];
  if (
    key !== undefined &&
    (typeof key === 'number' ? `${key}` : key) !== container?.name &&
    key !== resource.values.get(container?.collection.keyField ?? '')
  )
    throw new Refusal(422, `Validation failed: ${container?.collection.keyField} can't be changed`);
  const change = planUpdate(resource, body, true);
  if (container && !request.state.variants.putMerges) resetToDefaults(resource, container.collection, body);
  change();
}

/** Fields that the body does not name get their defaults. A password stays, because no client can read it and send it back. */
function resetToDefaults(resource: Resource, { keyField: key, createItem: make }: Collection, body: JsonObject): void {
  const defaults = make(body);
  for (const name of [...resource.values.keys()].filter((one) => one !== key)) {
    if (Object.hasOwn(body, name) || resource.isSecret(name)) continue;
    const value = defaults.values.get(name);
    if (value === undefined) resource.values.delete(name);
    else resource.values.set(name, value);
  }
}

function post(request: ApiRequest): Reply {
  refuseQuery(request, []);
  const location = findCallLocation(request);
  const { copy } = request.state;
  const opened = copy && location.kind === 'field' ? openEmptyCollection(copy, readPath(request), request.body) : undefined;
  if (opened) return addItem(request, opened);
  if (location.kind === 'missing' || location.kind === 'vacant') throw createNotFound(request);
  if (location.kind !== 'collection') throw new Refusal(400, 'POST creates an item of a collection; this path is not one');
  return addItem(request, location.collection);
}

function addItem(request: ApiRequest, collection: Collection): Reply {
  const name = readItemKey(request.body, collection);
  if (collection.items.has(name)) throw new Refusal(422, `The resource ${toHref([...readPath(request), name])} already exists.`);
  create(collection, name, request.body);
  return successReply(request.state.variants, request.state.variants.createStatus);
}

function put(request: ApiRequest): Reply {
  refuseQuery(request, []);
  const location = findCallLocation(request);
  switch (location.kind) {
    case 'missing':
      createMissing(request);
      break;
    case 'resource':
      modify(request, location.resource, request.body, location.in && { collection: location.in, name: location.name });
      break;
    case 'vacant':
      if ((request.body[location.in.keyField] ?? location.name) !== location.name)
        throw new Refusal(422, `Validation failed: ${location.in.keyField} differs from the path`);
      create(location.in, location.name, request.body);
      break;
    case 'collection': {
      const name = readItemKey(request.body, location.collection);
      const item = location.collection.items.get(name);
      if (item) modify(request, item, request.body, { collection: location.collection, name });
      else create(location.collection, name, request.body);
      break;
    }
    case 'field':
      if (Object.keys(request.body).join() !== location.field)
        throw new Refusal(422, `Validation failed: the body must be an object with ${location.field} alone`);
      modify(request, location.resource, request.body);
      break;
  }
  const after = findCallLocation(request);
  const resource = after.kind === 'resource' || after.kind === 'field' ? after.resource : undefined;
  return successReply(request.state.variants, request.state.variants.updateStatus, applyImplicitChange(resource, request.state.variants));
}

/** A copy accepts paths that it does not know; otherwise they do not exist. */
function createMissing(request: ApiRequest): void {
  const { copy } = request.state;
  const path = readPath(request);
  const collection = copy && openEmptyCollection(copy, path.slice(0, -1), request.body);
  if (collection) create(collection, path.at(-1) ?? '', request.body);
  else if (!copy || !createPart(copy, path, request.body)) throw createNotFound(request);
}

function remove(request: ApiRequest): Reply {
  refuseQuery(request, []);
  const location = findCallLocation(request);
  const { copy } = request.state;
  const isItem = location.kind === 'resource' && location.in !== undefined;
  if (copy && !isItem && deletePart(copy, readPath(request)))
    return successReply(request.state.variants, request.state.variants.deleteStatus);
  if (location.kind === 'missing' || location.kind === 'vacant') throw createNotFound(request);
  if (location.kind !== 'resource' || !location.in) throw new Refusal(400, 'Only an item of a collection can be deleted');
  const referenceError = location.in.findReference(location.name);
  if (referenceError !== undefined) throw new Refusal(422, referenceError);
  location.in.items.delete(location.name);
  return successReply(request.state.variants, request.state.variants.deleteStatus);
}

export function addConfigurationRoutes(router: Router): void {
  router.add('GET', 'configuration/**', getTagged, { query: 'any' });
  router.add('POST', 'configuration/**', post, { query: 'any', body: 'json' });
  router.add('PUT', 'configuration/**', (request) => (refuseOtherTag(request), put(request)), { query: 'any', body: 'json' });
  router.add('DELETE', 'configuration/**', (request) => (refuseOtherTag(request), remove(request)), { query: 'any' });
}
