import { describe } from 'vitest';
import { faultSuite } from './fault-cases';

describe('every operation in Node-RED 5.0, met by', () => faultSuite('node-red-v5'));
