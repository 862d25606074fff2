import type { JsonObject } from '../model/json';
import type { ConfigurationIndex } from './configuration-index';
import type { RuleFault, Severity } from './finding';

/** Limits that the rules use. Days, minutes and percent. */
export interface AuditLimits {
  readonly days: number;
  readonly 'idle-timeout': number;
  readonly 'max-timeout': number;
  /** Share of the licenses in use, of processor, memory and disk, in percent. */
  readonly license: number;
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly releases?: readonly string[];
  readonly 'serial-numbers'?: readonly string[];
  /** Names of the operations that the flows use. */
  readonly operations?: readonly string[];
}

/** Facts outside the configuration. A fact that could not be read is undefined. */
export interface LiveFacts {
  readonly certificate?: JsonObject | undefined;
  readonly health?: JsonObject | undefined;
  readonly cluster?: JsonObject | undefined;
  readonly leases?: JsonObject | undefined;
  /** The realm of the configured account. */
  readonly realm?: string | undefined;
}

/** Everything that a rule may read. */
export interface AuditSubject {
  readonly index: ConfigurationIndex;
  readonly release: string | null;
  readonly serialNumber: string | null;
  readonly limits: AuditLimits;
  readonly live: LiveFacts;
  /** Paths of resources whose secret is well known, with the field. Snapshots hold only masked secrets. */
  readonly weakSecrets: ReadonlyMap<string, string>;
  readonly now: number;
  /** Effects of the operations of this package by name. */
  readonly effects: ReadonlyMap<string, string>;
}

/** A small configuration with which a test checks the rule. */
export interface RuleExample {
  readonly resources: Readonly<Record<string, JsonObject>>;
  readonly release?: string;
  readonly limits?: Partial<AuditLimits>;
  readonly live?: LiveFacts;
}

/** One rule of the table. */
export interface AuditRule {
  readonly id: string;
  readonly severity: Severity;
  readonly title: string;
  readonly message: string;
  readonly fix: string;
  /** Returns the faults, or undefined if the rule does not fit the configuration. */
  check(subject: AuditSubject): readonly RuleFault[] | undefined | Promise<readonly RuleFault[] | undefined>;
  /** Examples that a test runs: the first has no fault, the second has one. */
  readonly passes: RuleExample;
  readonly fails: RuleExample;
}
