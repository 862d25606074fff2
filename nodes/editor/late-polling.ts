import { sourcesTo } from './likely';

/** Seconds from one use of an appliance to the next, as far as the flow tells: watches, and timers that are wired to its nodes. */
export function polling(appliance: string): number | undefined {
  const times: number[] = [];
  RED.nodes.eachNode((node) => {
    if (node.appliance !== appliance) return;
    if (node.every !== undefined) times.push(Number(node.every));
    for (const source of sourcesTo(node)) {
      if (source.type === 'inject' && Number(source.repeat) > 0) times.push(Number(source.repeat));
    }
  });
  const known = times.filter((time) => time > 0);
  return known.length > 0 ? Math.min(...known) : undefined;
}
