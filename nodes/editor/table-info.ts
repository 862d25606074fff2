/** The operation table as scripts/editor/table.mjs writes it into gateway.html. */
export interface FieldInfo {
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'object' | 'list' | 'path' | 'records' | 'names' | 'data' | 'content';
  /** Where its texts are in the catalogue, below the area. */
  text: string;
  required?: boolean;
  subject?: boolean;
  guard?: boolean;
  filter?: boolean;
  secret?: boolean;
  choices?: readonly string[];
  range?: 'count' | 'positive';
  default?: unknown;
  example?: string;
}

export interface OperationInfo {
  effect: 'read' | 'write' | 'destroy';
  fields: Record<string, FieldInfo>;
}

export interface AreaInfo {
  operations: Record<string, OperationInfo>;
}
