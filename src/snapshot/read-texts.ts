import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { crawl, noteCrawled } from './crawl';
import { Ignore } from './ignore';
import { isWithinAny } from './place';
import { kept } from './resource';
import { rootOf, type TakeInput } from './take';
import type { Texts } from './texts';

/** Reads everything below a place, a resource at a time. What is as in `last` is that very text: it is in memory once. */
export async function readTexts({ path, ignore }: Omit<TakeInput, 'folder'>, last: Texts | undefined, call: Call): Promise<Texts> {
  const resources = new Map<string, string>();
  const take = (place: string, resource: JsonObject): Promise<void> => {
    const text = JSON.stringify(kept(resource));
    const before = last?.resources.get(place);
    resources.set(place, before === text ? before : text);
    return Promise.resolve();
  };
  const crawled = await crawl({ root: rootOf(path, call), ignore: new Ignore(ignore), take }, call);
  noteCrawled(crawled, call);
  for (const place of resources.keys()) if (isWithinAny(place, crawled.vanished)) resources.delete(place);
  return { resources, forbidden: crawled.forbidden };
}
