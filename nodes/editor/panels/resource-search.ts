import { findInResource } from './resource-fields';

export interface ConfigurationLink {
  name: string;
  href: string | null;
}

interface SearchHit {
  readonly path: string;
  /** The field that matches, or '' if the path matches. */
  readonly field: string;
}

/** The response to a read of one resource. */
interface ReadAnswer {
  readonly ok: boolean;
  readonly resource?: unknown;
  readonly links?: unknown;
}

/** Maximum number of simultaneous requests of a search. */
const CONCURRENCY = 3;
const MAX_RESOURCES = 5000;
const MAX_SEARCH_HITS = 100;

/** Reads the whole tree in the background, so that a search also finds resources that were never opened. */
export class ResourceSearch {
  private readonly resources = new Map<string, unknown>();
  private readonly seen = new Set<string>(['']);
  private readonly waiting: string[] = [''];
  private running = 0;
  private isStarted = false;
  private isStopped = false;

  /** `toPath` returns the path of a link below a path, or undefined for a link that leaves the tree. */
  constructor(
    private readonly read: (path: string) => Promise<ReadAnswer>,
    private readonly toPath: (link: ConfigurationLink, parent: string) => string | undefined,
    private readonly onProgress: () => void,
  ) {}

  get count(): number {
    return this.resources.size;
  }

  get isComplete(): boolean {
    return this.isStarted && this.running === 0 && this.waiting.length === 0;
  }

  start(): void {
    this.isStarted = true;
    this.continue();
  }

  stop(): void {
    this.isStopped = true;
  }

  /** Returns the first matches among the resources that were read. Matching paths come first. */
  find(text: string): SearchHit[] {
    const wanted = text.trim();
    const hits: SearchHit[] = [];
    if (wanted === '') return hits;
    for (const [path, resource] of this.resources) {
      const field = path === '' ? undefined : findInResource(path, resource, wanted);
      if (field !== undefined) hits.push({ path, field });
    }
    return hits.sort((a, b) => Number(a.field !== '') - Number(b.field !== '')).slice(0, MAX_SEARCH_HITS);
  }

  private continue(): void {
    while (!this.isStopped && this.running < CONCURRENCY && this.waiting.length > 0) {
      const path = this.waiting.shift() ?? '';
      this.running += 1;
      void this.visit(path).finally(() => {
        this.running -= 1;
        this.continue();
        if (!this.isStopped) this.onProgress();
      });
    }
  }

  private async visit(path: string): Promise<void> {
    const answer = await this.read(path);
    // What may not be read cannot be searched.
    if (!answer.ok) return;
    this.resources.set(path, answer.resource);
    for (const link of (answer.links ?? []) as ConfigurationLink[]) {
      const child = this.toPath(link, path);
      if (child === undefined || this.seen.has(child) || this.seen.size >= MAX_RESOURCES) continue;
      this.seen.add(child);
      this.waiting.push(child);
    }
  }
}
