declare module 'parse-prometheus-text-format' {
  interface Metric {
    readonly value?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly buckets?: Readonly<Record<string, string>>;
    readonly count?: string;
    readonly sum?: string;
  }
  interface Family {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics: readonly Metric[];
  }
  export default function parse(text: string): Family[];
}
