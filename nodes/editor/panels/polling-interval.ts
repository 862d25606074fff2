import { findUpstreamNodes } from '../flow-hints';

/** Returns the shortest interval in seconds between two uses of an appliance, from watch nodes and wired timers. */
export function findPollingSeconds(appliance: string): number | undefined {
  const intervals: number[] = [];
  RED.nodes.eachNode((node) => {
    if (node.appliance !== appliance) return;
    if (node.every !== undefined) intervals.push(Number(node.every));
    for (const source of findUpstreamNodes(node)) {
      if (source.type === 'inject' && Number(source.repeat) > 0) intervals.push(Number(source.repeat));
    }
  });
  const positiveIntervals = intervals.filter((time) => time > 0);
  return positiveIntervals.length > 0 ? Math.min(...positiveIntervals) : undefined;
}
