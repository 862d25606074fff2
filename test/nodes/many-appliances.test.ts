import { describe } from 'vitest';
import { manyAppliancesSuite } from './suites/many-appliances';

describe('an action node with many appliances in Node-RED 4.1', () => manyAppliancesSuite('node-red'));
