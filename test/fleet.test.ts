import { describe } from 'vitest';
import { fleet } from './support/nodes-fleet';

describe('one node, many appliances', () => fleet('node-red'));
