import { findUpstreamNodes } from '../flow-hints';

/** Seconds from one use of an appliance to the next, as far as the flow tells: watches, and timers that are wired to its nodes. */
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
