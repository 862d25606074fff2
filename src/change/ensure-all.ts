import type { Many } from '../model/envelope';
import { badInput } from '../model/error';
import { isObject, kindOf, type JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { configurationPath, CONFIGURATION } from '../model/path';
import { ours, sentence } from '../model/sentence';
import { compareGiven } from './compare';
import { ensure, ensureAbsent, noteEnsured, type Ensured } from './ensure';
import { withParts } from './parts';
import { readIfThere } from './read';
import { Turns } from './turns';

/** One resource of a desired state. */
interface Item {
  /** As it was given. */
  readonly shown: string;
  readonly path: string;
  /** Undefined: it is not to be there. */
  readonly body: JsonObject | undefined;
}

/**
 * Makes each resource so, or absent. All are looked at first, on all connections; what differs is written in the order given, since one may
 * need another: a user its server, a role what it refers to. An item that fails does not stop the others.
 * Errors: `BAD_INPUT` naming the item, before anything is sent.
 */
export async function ensureAll(resources: readonly unknown[], allowAbsent: boolean, call: Call): Promise<Many> {
  const items = readItems(resources, allowAbsent, call.settings.prefix);
  const outcomes = new Map<Item, Ensured>();
  const ended = new Turns(items);
  try {
    return await call.eachBy(
      items,
      async (item, own) => {
        try {
          const asItIs = await lookedAt(item, own);
          if (!asItIs) await ended.before(item);
          outcomes.set(item, asItIs ?? (await make(item, own)));
        } finally {
          ended.done(item);
        }
      },
      ({ shown }) => shown,
    );
  } finally {
    noteEnsured(
      items.flatMap((item) => outcomes.get(item) ?? []),
      call,
    );
  }
}

function make({ path, body }: Item, call: Call): Promise<Ensured> {
  return body ? ensure({ path, body }, call) : ensureAbsent(path, call);
}

/** What is as it should be need not wait for its turn. */
async function lookedAt({ path, body }: Item, call: Call): Promise<Ensured | undefined> {
  const read = await readIfThere(path, call);
  if (!body !== !read) return undefined;
  const resource = read && body && (await withParts(read, body, call)).resource;
  const { diff, notCompared } = body ? compareGiven(path, body, resource) : { diff: [], notCompared: [] };
  if (diff.length > 0) return undefined;
  call.unchanged();
  return { resource, differs: false, diff, notCompared, implicit: [] };
}

function readItems(resources: readonly unknown[], allowAbsent: boolean, prefix: string): Item[] {
  const items = resources.map((one, index) => readItem(one, `resources[${index}]`, allowAbsent, prefix));
  const known = new Map<string, number>();
  items.forEach(({ path }, index) => {
    const other = known.get(path);
    if (other !== undefined) throw badInput(sentence`resources[${other}] and resources[${index}] have the same path. Nothing was sent.`);
    known.set(path, index);
  });
  return items;
}

function readItem(given: unknown, name: string, allowAbsent: boolean, prefix: string): Item {
  if (!isObject(given)) throw badInput(sentence`${ours(name)} has to be an object with path and body; ${ours(kindOf(given))} came.`);
  const { path: place, body, absent, ...rest } = given;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    throw badInput(sentence`${ours(name)} has ${JSON.stringify(unknown)}, which means nothing here: path, body and absent do.`);
  const path = pathOf(place, name, prefix);
  const shown = typeof place === 'string' ? place : path;
  if (absent !== undefined && absent !== false) {
    if (absent !== true || body !== undefined) throw badInput(sentence`${ours(name)}.absent has to be true, without a body.`);
    if (!allowAbsent)
      throw badInput(
        sentence`${ours(name)} is to be absent, but this is not allowed here: allow-absent (May delete) has to be set. Nothing was sent.`,
      );
    return { shown, path, body: undefined };
  }
  if (!isObject(body)) throw badInput(sentence`${ours(name)}.body has to be an object; ${ours(kindOf(body))} came.`);
  return { shown, path, body };
}

function pathOf(place: unknown, name: string, prefix: string): string {
  if (typeof place !== 'string' && !Array.isArray(place))
    throw badInput(sentence`${ours(name)}.path has to be text or an array; ${ours(kindOf(place))} came.`);
  return resourcePath(place as string | string[], prefix);
}

/** A path below the configuration that can be written, without the slash at its end: two ways to write it are one resource. */
export function resourcePath(place: string | readonly string[], prefix: string): string {
  const path = configurationPath(place, prefix).replace(/\/$/, '');
  if (path === CONFIGURATION) throw badInput('path is the root of the configuration, which can only be read.');
  return path;
}
