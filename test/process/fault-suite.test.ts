import { describe } from 'vitest';
import { faultSuite } from './fault-cases';

describe('every operation in Node-RED 4.1 with', () => faultSuite('node-red'));
