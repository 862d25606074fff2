import { describe } from 'vitest';
import { secrets } from './support/nodes-secrets';

describe('secrets of nodes in Node-RED 4.1', () => secrets('node-red'));
