import type { ObjectKind } from '../../src/model/field';
import type { TextRule } from '../../src/model/rules';

/** The operation table as scripts/editor/table.mjs writes it into gateway.html. */
export interface FieldInfo {
  kind: 'text' | 'number' | 'amount' | 'boolean' | 'choice' | 'object' | 'list' | 'path' | 'records' | 'names' | 'data' | 'content';
  /** Where its texts are in the catalogue, below the area. */
  text: string;
  required?: boolean;
  subject?: boolean;
  guard?: boolean;
  filter?: boolean;
  secret?: boolean;
  choices?: readonly string[];
  range?: 'count' | 'positive';
  rule?: TextRule;
  /** Values that the interface is known to take; others too. */
  known?: readonly string[];
  names?: ObjectKind;
  editor?: 'session-filter' | 'resource';
  default?: unknown;
  example?: string;
}

export interface OperationInfo {
  effect: 'read' | 'write' | 'destroy';
  fields: Record<string, FieldInfo>;
}

export interface AreaInfo {
  /** It tells by an output of its own what happens by itself. */
  events?: true;
  /** A plan of it would say nothing. */
  dryRun?: false;
  operations: Record<string, OperationInfo>;
}
