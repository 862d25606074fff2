import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { crawlConfiguration, addCrawlToEnvelope } from './crawl';
import { createSnapshotRules } from './snapshot-rules';
import { isPathWithinAny } from './resource-path';
import { canonicalizeResource } from './resource';
import { resolveRootPath, type TakeSnapshotInput } from './take';
import type { SerializedTree } from './serialized-tree';

/** Reads everything below a path. An unchanged resource reuses the text of `previous` to save memory. */
export async function readSerializedTree(
  { path, ignore, unordered }: Omit<TakeSnapshotInput, 'folder'>,
  previous: SerializedTree | undefined,
  call: OperationContext,
): Promise<SerializedTree> {
  const resources = new Map<string, string>();
  const onResource = (resourcePath: string, resource: JsonObject): Promise<void> => {
    const text = JSON.stringify(canonicalizeResource(resource));
    const before = previous?.resources.get(resourcePath);
    resources.set(resourcePath, before === text ? before : text);
    return Promise.resolve();
  };
  const crawlResult = await crawlConfiguration(
    { root: resolveRootPath(path, call), ...createSnapshotRules({ ignore, unordered }), onResource },
    call,
  );
  addCrawlToEnvelope(crawlResult, call);
  for (const resourcePath of resources.keys()) if (isPathWithinAny(resourcePath, crawlResult.vanished)) resources.delete(resourcePath);
  return { resources, forbidden: crawlResult.forbidden };
}
