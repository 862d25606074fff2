import { describe } from 'vitest';
import { faults } from './support/fault-suite';

describe('every operation in Node-RED 5.0, met by', () => faults('node-red-v5'));
