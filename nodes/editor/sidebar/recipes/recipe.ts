/** Returns a text of the catalog. */
export type Translate = (key: string, values?: Record<string, unknown>) => string;

/** A field of a recipe that the user fills in. Its label and help are in the catalog below `recipe.field`. */
export interface RecipeField {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'time' | 'choice' | 'secret';
  /** Name of the texts in the catalog, if it differs from the field name. */
  readonly text?: string;
  readonly default: string;
  readonly placeholder?: string;
  /** Values of a choice. Their labels are in the catalog. */
  readonly choices?: readonly string[];
  /** The range of a number. */
  readonly range?: readonly [min: number, max: number];
  /** The field is visible only while another field has this value. */
  readonly onlyFor?: readonly [field: string, value: string];
}

/** A node of a recipe. `wires` and ids are names within the recipe. */
export interface RecipeNode {
  readonly id: string;
  readonly type: string;
  readonly x: number;
  readonly y: number;
  readonly wires?: readonly (readonly string[])[];
  readonly [property: string]: unknown;
}

export interface RecipeFlow {
  readonly nodes: readonly RecipeNode[];
  /** The secret of the recipe. It is stored encrypted as a variable of the group, and the flow compares it. */
  readonly secret?: { readonly name: string; readonly value: string };
}

type RecipeValues = Readonly<Record<string, string>>;

/** A flow that needs only a few values from the user. Its texts are in the catalog below `recipe.<name>`. */
export interface Recipe {
  readonly name: string;
  readonly icon: string;
  readonly fields: readonly RecipeField[];
  readonly build: (values: RecipeValues, text: Translate) => RecipeFlow;
}

/** Checks a value. Returns the catalog key of the error, or undefined. */
export function checkRecipeValue({ kind, range, name }: RecipeField, value: string): string | undefined {
  if (value.trim() === '') return 'recipe.check.empty';
  if (kind === 'number') {
    const [min, max] = range ?? [1, Infinity];
    const number = Number(value);
    return Number.isInteger(number) && number >= min && number <= max ? undefined : 'recipe.check.number';
  }
  if (kind === 'time') return /^([01]\d|2[0-3]):[0-5]\d$/.test(value) ? undefined : 'recipe.check.time';
  return name === 'path' && !/^\/[\w\-./:]+$/.test(value) ? 'recipe.check.path' : undefined;
}

/** The properties of a gateway node that runs one operation. */
export function toOperationProperties(operation: string, appliance: string, fields: Record<string, object> = {}): Record<string, unknown> {
  return {
    ...{ name: '', appliance, applianceFrom: '', operation, operationType: 'op', fields },
    ...{ output: 'payload', failures: 'output', dryRun: false, allowDestroy: false, outputs: 2 },
  };
}

export const toLiteral = (type: 'str' | 'num' | 'json', value: string): { type: string; value: string } => ({ type, value });

/** Creates a debug node that shows one property as a sentence. */
export function createDebugNode(id: string, name: string, complete: string, x: number, y: number): RecipeNode {
  const output = { active: true, tosidebar: true, console: false, tostatus: false, targetType: 'msg', statusVal: '', statusType: 'auto' };
  return { id, type: 'debug', name, complete, x, y, ...output };
}

/** Creates an Inject node that starts at times in cron notation. */
export function createScheduleNode(id: string, name: string, crontab: string, x: number, y: number, wires: string[][]): RecipeNode {
  return { id, type: 'inject', name, props: [], repeat: '', crontab, once: false, onceDelay: 0.1, topic: '', x, y, wires };
}

/** Returns the minute and hour of a time in cron notation. */
export function toCronExpression(time: string): string {
  const [hour = '0', minute = '0'] = time.split(':');
  return `${Number(minute)} ${Number(hour)}`;
}
