import { expect, it } from 'vitest';
import { APPLIANCE_TRAITS, UNPROBED_VARIANTS } from '../../../src/conformance/traits';
import { defaultVariants, VARIANTS, type Variants } from '../../../src/simulator';

it('a conformance check detects each variant of the simulator, or says why it cannot test for the variant', () => {
  expect([...Object.keys(APPLIANCE_TRAITS), ...Object.keys(UNPROBED_VARIANTS)].sort()).toEqual(Object.keys(VARIANTS).sort());
  for (const [name, { usual }] of Object.entries(APPLIANCE_TRAITS)) expect(usual, name).toBe(defaultVariants()[name as keyof Variants]);
});
