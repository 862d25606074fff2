import type { JsonObject } from '../../src/model/json';
import type { ApplianceFacts, FinishedRunRecord } from './appliance-facts';

/** Maximum number of outcomes of an appliance in the sidebar. */
const MAX_OUTCOMES = 10;

/** One outcome in the sidebar: who, what, when. */
export interface SidebarOutcome {
  readonly at: string;
  readonly operation: string;
  /** Whether the write succeeded; null if its outcome is unknown. */
  readonly ok: boolean | null;
  readonly code: string | null;
  readonly changed: boolean | null;
  /** A sentence. Null for an entry of the journal that an earlier process wrote. */
  readonly summary: string | null;
  /** The target of an entry without a summary. */
  readonly target: string | null;
  readonly actor: string | null;
  readonly node: string | null;
  /** Ids of the entries that an undo reverts. If empty, nothing can be undone. */
  readonly undo: readonly string[];
  readonly undone: boolean;
}

/** Merges the runs of this process with the journal entries, the newest first. The entries of one run become one outcome. */
export function mergeOutcomes({ runs, undone }: ApplianceFacts, entries: readonly JsonObject[]): SidebarOutcome[] {
  const entriesById = new Map(entries.map((entry) => [String(entry['id']), entry]));
  const ofRuns = runs.map((run) => toOutcome(run, entriesById, undone));
  const idsOfRuns = new Set(runs.flatMap((run) => run.entries));
  const others = entries.filter(({ id }) => !idsOfRuns.has(String(id))).map((entry) => fromEntry(entry, undone));
  return [...ofRuns, ...others].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, MAX_OUTCOMES);
}

function toOutcome(run: FinishedRunRecord, entriesById: ReadonlyMap<string, JsonObject>, undone: ReadonlySet<string>): SidebarOutcome {
  const { entries, ...shown } = run;
  // A part of a run is not taken back alone: the sentence describes the whole.
  const isUndoable = entries.length > 0 && entries.every((id) => entriesById.get(id)?.['undo'] === true);
  return { ...shown, target: null, undo: isUndoable ? entries : [], undone: isUndone(entries, undone) };
}

function fromEntry(entry: JsonObject, undone: ReadonlySet<string>): SidebarOutcome {
  const { at, operation, ok, code, changed, actor, node, id, undo, person, request } = entry;
  const { path } = request as JsonObject;
  return {
    ...{ at: String(at), operation: String(operation), actor: toText(actor), node: toText(node), code: toText(code) },
    ok: typeof ok === 'boolean' ? ok : null,
    changed: typeof changed === 'boolean' ? changed : null,
    summary: null,
    target: toText(person) ?? toTarget(String(path)),
    undo: undo === true ? [String(id)] : [],
    undone: isUndone([String(id)], undone),
  };
}

const isUndone = (ids: readonly string[], undone: ReadonlySet<string>): boolean => ids.length > 0 && ids.every((id) => undone.has(id));

const toText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Returns the last two segments of a path, which usually contain the object name. */
function toTarget(path: string): string {
  const segments = path.split('/').filter(Boolean).slice(-2);
  return segments.map(decodePathSegment).join('/');
}

function decodePathSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
