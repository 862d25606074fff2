import { describe } from 'vitest';
import { faultSuite } from './fault-cases';

describe('every operation in Node-RED 5.0 with', () => faultSuite('node-red-v5'));
