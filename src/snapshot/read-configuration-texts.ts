import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { crawlConfiguration, addCrawlToEnvelope } from './crawl';
import { createSnapshotRules } from './snapshot-rules';
import { isPathWithinAny } from './resource-path';
import { canonicalizeResource } from './resource';
import { resolveSnapshotRoot, type TakeSnapshotInput } from './take';
import type { ConfigurationTexts } from './configuration-texts';

/** Reads everything below a path. An unchanged resource reuses the text of `previous` to save memory. */
export async function readConfigurationTexts(
  { path, ignore, unordered }: Omit<TakeSnapshotInput, 'folder'>,
  previous: ConfigurationTexts | undefined,
  call: OperationContext,
): Promise<ConfigurationTexts> {
  const resources = new Map<string, string>();
  const onResource = (resourcePath: string, resource: JsonObject): Promise<void> => {
    const text = JSON.stringify(canonicalizeResource(resource));
    const before = previous?.resources.get(resourcePath);
    resources.set(resourcePath, before === text ? before : text);
    return Promise.resolve();
  };
  const crawlResult = await crawlConfiguration(
    { root: resolveSnapshotRoot(path, call), ...createSnapshotRules({ ignore, unordered }), onResource },
    call,
  );
  addCrawlToEnvelope(crawlResult, call);
  for (const resourcePath of resources.keys()) if (isPathWithinAny(resourcePath, crawlResult.vanished)) resources.delete(resourcePath);
  return { resources, forbidden: crawlResult.forbidden };
}
