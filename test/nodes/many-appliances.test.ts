import { describe } from 'vitest';
import { manyAppliancesSuite } from './suites/many-appliances';

describe('one node, many appliances', () => manyAppliancesSuite('node-red'));
