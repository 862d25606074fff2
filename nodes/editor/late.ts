import type { Answer } from './asking';
import { openCurrent } from './late-current';
import { openKnown, openList } from './late-list';
import { openFilter } from './late-filter';
import { openPreview, type PreviewOpening } from './late-preview';
import { openTest, type TestOpening } from './late-test';
import { openTree } from './late-tree';
import type { FieldInfo } from './table-info';

/** A row as the tools see it. */
export interface Target {
  readonly name: string;
  readonly element: JQuery;
  readonly box: JQuery;
  get(): { type: string; value: string } | undefined;
  set(type: string, value: string): void;
}

/** What a tool is opened with. It shares no state with the rest: it is a script of its own. */
export interface Opening {
  readonly node: RedNode;
  readonly row: Target;
  readonly field: FieldInfo;
  readonly ask: (route: string, body: Record<string, unknown>) => Promise<Answer>;
  /** Which appliance is asked, where that is a deployed one. */
  readonly asked: string | undefined;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
  readonly given: () => Record<string, string>;
  /** The row of what would take the place of a resource, for an operation that changes one. */
  readonly body: () => Target | undefined;
}

export interface Opened {
  close(): void;
  closed(listener: () => void): void;
}

export interface Late {
  pick(opening: Opening): Opened;
  known(opening: Opening): Opened;
  tree(opening: Opening): Opened;
  filter(opening: Opening): Opened;
  current(opening: Opening): Opened;
  readonly preview: (opening: PreviewOpening) => void;
  readonly test: (opening: TestOpening) => Promise<void>;
}

/** What late.css holds; the build puts it here. */
declare const LATE_STYLE: string;

$('<style>').text(LATE_STYLE).appendTo(document.head);

/** Members of the global `gatewayLate`. */
export const pick = openList;
export const known = openKnown;
export const tree = openTree;
export const filter = openFilter;
export const current = openCurrent;
export const preview = openPreview;
export const test = openTest;
