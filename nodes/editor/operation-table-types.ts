import type { ObjectKind } from '../../src/model/field';
import type { TextFormat } from '../../src/model/rules';

/** One field in the operation table that scripts/editor/table.mjs writes into gateway.html. */
export interface FieldInfo {
  kind: 'text' | 'number' | 'amount' | 'boolean' | 'choice' | 'object' | 'list' | 'path' | 'records' | 'names' | 'data' | 'content';
  /** Key of the field texts in the catalog, below the area. */
  text: string;
  required?: boolean;
  subject?: boolean;
  guard?: boolean;
  filter?: boolean;
  secret?: boolean;
  choices?: readonly string[];
  range?: 'count' | 'positive';
  rule?: TextFormat;
  /** Values that the interface is known to accept. Other values are possible. */
  known?: readonly string[];
  names?: ObjectKind;
  editor?: 'session-filter' | 'resource' | 'folder';
  default?: unknown;
  example?: string;
}

export interface OperationInfo {
  effect: 'read' | 'write' | 'destroy';
  fields: Record<string, FieldInfo>;
}

export interface AreaInfo {
  /** Whether the node has an output for events. */
  events?: true;
  /** Set if the operation has no dry run. */
  dryRun?: false;
  operations: Record<string, OperationInfo>;
}
