import { describe } from 'vitest';
import { faults } from './support/fault-suite';

describe('every operation in Node-RED 4.1, met by', () => faults('node-red'));
