import { asGatewayError, GatewayError } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import { numberField, type OperationContext } from '../model/operation';
import { safeMessage } from '../model/safe-message';
import { readIfExists } from './if-exists';
import { findLinkedPaths } from './resource-state';

export const maxDeletionsField = numberField(
  'Max deletions',
  'The maximum number of resources that go, with everything below them. If there are more, nothing is sent (LIMIT).',
  { guard: true, default: 25, range: 'count' },
);

/**
 * Counts the resources at and below the paths and puts the number into `envelope.resources`. Throws `LIMIT` if there are more than `max`,
 * before anything is sent. A collection fails after one read, because its items are counted before they are read.
 */
export async function assertDeletionLimit(paths: readonly string[], max: number, call: OperationContext): Promise<void> {
  const seen = new Set<string>();
  for (const path of paths) await countBelow(path.replace(/\/$/, ''), max, seen, call);
  call.addToEnvelope({ resources: seen.size });
}

async function countBelow(root: string, max: number, seen: Set<string>, call: OperationContext): Promise<void> {
  for (let level: readonly string[] = [root]; level.length > 0;) {
    const links = await mapConcurrently(level, call.settings.connections, (path) => readResourceLinks(path, root, seen, call));
    level = [...new Set(links.flat())].filter((link) => link.startsWith(`${root}/`) && !seen.has(link));
    for (const link of level) seen.add(link);
    if (seen.size <= max) continue;
    throw new GatewayError(
      'LIMIT',
      safeMessage`At least ${seen.size} resources would be deleted, because ${root} contains others, but max is ${max}. Nothing was deleted. Enter the path of one resource, or raise max (Max deletions).`,
      { sent: false },
    );
  }
}

/** Returns the paths that a resource links to. Below the root, a resource that cannot be read counts as one. */
async function readResourceLinks(path: string, root: string, seen: Set<string>, call: OperationContext): Promise<string[]> {
  try {
    const resource = await readIfExists(path, call, true);
    if (!resource) return [];
    seen.add(path);
    return await findLinkedPaths(path, resource, call);
  } catch (thrown) {
    const { details } = asGatewayError(thrown);
    if (path === root || details.status === undefined || details.status >= 500) throw thrown;
    return [];
  }
}
