import type { JsonObject } from '../model/json';
import type { ConfigurationIndex } from './configuration-index';
import type { AuditRuleFault, Severity } from './finding';

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

/** The state of the appliance outside its configuration. A value that could not be read is undefined. */
export interface ApplianceStatusData {
  readonly certificate?: JsonObject | undefined;
  readonly health?: JsonObject | undefined;
  readonly cluster?: JsonObject | undefined;
  readonly leases?: JsonObject | undefined;
  /** The realm of the configured account. */
  readonly realm?: string | undefined;
}

/** All data that an audit rule can read. */
export interface AuditSubject {
  readonly index: ConfigurationIndex;
  readonly release: string | null;
  readonly serialNumber: string | null;
  readonly limits: AuditLimits;
  readonly live: ApplianceStatusData;
  /** Path of each resource with a well-known secret, and the field of the secret. Snapshots hold only masked secrets. */
  readonly weakSecrets: ReadonlyMap<string, string>;
  /** Paths of resources that the account may not read. */
  readonly unreadable?: ReadonlySet<string>;
  /** Whether this is a snapshot of a part of the configuration. */
  readonly isPart?: boolean;
  readonly now: number;
  /** Effects of the operations of this package by name. */
  readonly effects: ReadonlyMap<string, string>;
}

/** A small configuration with which a test checks the rule. */
export interface AuditRuleExample {
  readonly resources: Readonly<Record<string, JsonObject>>;
  readonly release?: string;
  readonly limits?: Partial<AuditLimits>;
  readonly live?: ApplianceStatusData;
}

/** One rule of the table. */
export interface AuditRule {
  readonly id: string;
  readonly severity: Severity;
  readonly title: string;
  readonly message: string;
  readonly fix: string;
  /** Returns the faults, or undefined if the rule does not fit the configuration. */
  check(subject: AuditSubject): readonly AuditRuleFault[] | undefined | Promise<readonly AuditRuleFault[] | undefined>;
  /** Examples that a test runs: the first has no fault, the second has one. */
  readonly passes: AuditRuleExample;
  readonly fails: AuditRuleExample;
}
