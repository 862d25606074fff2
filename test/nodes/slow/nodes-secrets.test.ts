import { describe } from 'vitest';
import { secretsSuite } from '../suites/secrets';

describe('secrets of nodes in Node-RED 4.1', () => secretsSuite('node-red'));
