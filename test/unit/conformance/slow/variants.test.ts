import { describe, expect, it } from 'vitest';
import { compareProfiles } from '../../../../src/conformance';
import { UNPROBED_VARIANTS } from '../../../../src/conformance/traits';
import { defaultVariants, VARIANTS, type Variants, type VariantValue } from '../../../../src/simulator';
import { checkSimulator } from '../../../helpers/conformance';
import { startTestSimulator } from '../../../helpers/simulated-appliance';

/** Values to try where a variant takes any. */
const SAMPLES: Record<string, VariantValue> = {
  changesField: 'description',
  forbiddenBranch: 'users/user-roles',
  clockAhead: 120,
};
/** What else a variant needs to show itself. */
const NEEDS: Record<string, Partial<Variants>> = {
  isLastRecordSpelling: { isLastRecord: 'inside' },
  updateStatus: {},
  etagPerResponse: { etags: true },
  noContentType: { deleteStatus: 204 },
  warningsOnly: { createStatus: 201 },
  successText: { createStatus: 201 },
  allLists: { createStatus: 201 },
};
/** A login that fails ends the check, so nothing else is found. */
const WITHOUT_LOGIN = ['restAccess', 'loginAnswer', 'restarting'];

const names = Object.keys(VARIANTS) as (keyof Variants)[];
const probed = names.filter((name) => !Object.hasOwn(UNPROBED_VARIANTS, name));

function otherValues(name: keyof Variants): VariantValue[] {
  const { values, default: usual } = VARIANTS[name] as { values: readonly VariantValue[] | undefined; default: VariantValue };
  return values ? values.filter((value) => value !== usual) : [SAMPLES[name] ?? usual];
}

/** For the variants that no check finds: a value that is not the default. */
const HIDDEN_SAMPLES: Record<string, VariantValue> = {
  lockAfter: 2,
  idleUnitMs: 30_000,
  binaryLine: 64,
  xmlNamespace: 'urn:appliance:configuration:other',
  xmlSection: 'users',
  transferMs: 5,
  largeExport: 1,
  transferRate: 100,
};

async function findVariants(variants: Partial<Variants>): Promise<Readonly<Record<string, VariantValue>>> {
  const simulator = await startTestSimulator({ sessions: 210, variants });
  const { profile } = await checkSimulator(simulator, { writes: true });
  return profile.variants;
}

describe('a conformance check finds the variants of the simulator', () => {
  it('a conformance check of the default simulator finds the default value of every variant', async () => {
    const found = await findVariants({});
    const expected = Object.fromEntries(probed.map((name) => [name, defaultVariants()[name]]));
    expect(found).toEqual(expected);
  });

  it.each(probed.flatMap((name) => otherValues(name).map((value) => [name, value] as const)))('finds %s = %s', async (name, value) => {
    const found = await findVariants({ ...NEEDS[name], [name]: value });
    if (name === 'clockAhead') expect(Math.abs(Number(found[name]) - Number(value))).toBeLessThanOrEqual(1);
    else expect(found[name]).toBe(value);
    // The others stay as they are: a variant is not taken for another one.
    const mistaken = probed.filter(
      (other) => other !== name && found[other] !== undefined && found[other] !== { ...defaultVariants(), ...NEEDS[name] }[other],
    );
    expect(mistaken.filter((other) => !WITHOUT_LOGIN.includes(other))).toEqual([]);
  });

  it('a conformance check cannot see the variants that are listed as undetectable', async () => {
    // The size of the tree shows in the keys of a branch.
    const hidden = (Object.keys(UNPROBED_VARIANTS) as (keyof Variants)[]).filter((name) => name !== 'largeTree' && name !== 'vanishing');
    const values = hidden.map((name) => [name, HIDDEN_SAMPLES[name] ?? otherValues(name)[0]] as const);
    for (const [name, value] of values) expect(value, name).not.toBe(defaultVariants()[name]);
    const usual = await checkSimulator(await startTestSimulator());
    const other = await checkSimulator(await startTestSimulator({ variants: Object.fromEntries(values) }));
    expect(compareProfiles(usual.profile, other.profile)).toEqual([]);
  });
});
