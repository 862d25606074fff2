import { badInput } from '../model/error';
import { readBoolean } from '../model/json';
import { parseIdentityPins, PERMISSIONS } from '../model/rules';
import { safeMessage, trusted } from '../model/safe-message';

type Values = Readonly<Record<string, unknown>>;

/** For each guard, whether the value of an entry is as strict as the default. */
const GUARDS = Object.entries<(value: unknown, limit: unknown) => boolean>({
  // With an unknown limit, nothing is strict enough.
  permissions: (value, limit) => permissionRank(limit) >= 0 && permissionRank(value) >= permissionRank(limit),
  pin: (value, limit) => {
    const [pins, limits] = [parseIdentityPins(String(value)), parseIdentityPins(String(limit))];
    return pins.length > 0 && pins.every((pin) => limits.includes(pin));
  },
  dryRun: (value, limit) => readBoolean(limit) === false || isTrue(value),
  rate: (value, limit) => Number(value) <= Number(limit),
  waiting: (value, limit) => Number(value) <= Number(limit),
  journal: (value, limit) => value === limit,
});

/** The strictness of a permission. An unknown word counts as the weakest, and the check of the settings refuses it. */
function permissionRank(value: unknown): number {
  return (PERMISSIONS as readonly unknown[]).indexOf(value);
}

function isTrue(value: unknown): boolean {
  return readBoolean(value) === true;
}

/** Checks that an entry does not loosen a guard of the defaults, because others may write the list. Errors: `BAD_INPUT`. */
export function assertGuardsNotWeakened(properties: Values, defaults: Values): void {
  for (const [name, isStrictEnough] of GUARDS) {
    const value = properties[name];
    const limit = defaults[name];
    if (value === undefined || limit === undefined || limit === '' || isStrictEnough(value, limit)) continue;
    throw badInput(
      safeMessage`${trusted(name)}: the defaults of the inventory set a stricter value. An entry can only be stricter than the defaults.`,
    );
  }
}
