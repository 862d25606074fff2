/** One sample line of a metric family. */
export interface MetricSample {
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All samples with one metric name, with its type and help. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly unit?: string;
  readonly samples: readonly MetricSample[];
}

/** Content type of OpenMetrics 1.0.0. */
export const METRICS_CONTENT_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Formats families as OpenMetrics text and adds the common labels to each sample. Empty families and duplicate samples are left out. */
export function formatOpenMetrics(families: readonly MetricFamily[], common: Readonly<Record<string, string>>): string {
  const lines: string[] = [];
  for (const { name, type, help, unit, samples } of families) {
    if (samples.length === 0) continue;
    lines.push(`# TYPE ${name} ${type}`);
    if (unit !== undefined) lines.push(`# UNIT ${name} ${unit}`);
    lines.push(`# HELP ${name} ${escapeText(help)}`);
    const writtenLabels = new Set<string>();
    for (const { suffix = '', labels = {}, value } of samples) {
      const labelled = `${name}${suffix}{${formatLabels({ ...common, ...labels })}}`;
      // A scraper rejects the whole text if a sample occurs twice.
      if (writtenLabels.has(labelled) || !Number.isFinite(value)) continue;
      writtenLabels.add(labelled);
      lines.push(`${labelled} ${value}`);
    }
  }
  return `${lines.join('\n')}\n# EOF\n`;
}

/** Merges OpenMetrics texts: each family appears once, with the samples of all texts. Other values are ignored. */
export function mergeOpenMetrics(texts: readonly unknown[]): string {
  const families = new Map<string, { readonly head: string[]; readonly samples: string[] }>();
  for (const text of texts) {
    if (typeof text !== 'string') continue;
    let family: { readonly head: string[]; readonly samples: string[] } | undefined;
    for (const line of text.split('\n')) {
      const name = /^# TYPE (\S+) /.exec(line)?.[1];
      if (name !== undefined) {
        const known = families.get(name);
        family = known ?? { head: [], samples: [] };
        if (!known) families.set(name, family);
      }
      if (line === '' || line === '# EOF') continue;
      if (!line.startsWith('#')) family?.samples.push(line);
      else if (!family?.head.includes(line)) family?.head.push(line);
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${lines.join('\n')}\n# EOF\n`;
}

function formatLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeText(value)}"`)
    .join(',');
}

function escapeText(text: string): string {
  return text.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
