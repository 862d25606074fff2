import { describe } from 'vitest';
import { approvalSuite } from './suites/approval';
import { containmentSuite } from './suites/contain';
import { areasSuite, loginSuite } from './suites/areas';
import { fieldsSuite } from './suites/fields';
import { lifecycleSuite } from './suites/life-cycle';
import { messagesSuite } from './suites/messages';
import { observingSuite } from './suites/observing';
import { configurationSuite } from './suites/setup';
import { testButtonSuite } from './suites/test-button';
import { progressSuite, transfersSuite } from './suites/transfer';

describe('nodes in Node-RED 4.1', () => {
  describe('messages', () => messagesSuite('node-red'));
  describe('fields', () => fieldsSuite('node-red'));
  describe('setup', () => configurationSuite('node-red'));
  describe('life cycle', () => lifecycleSuite('node-red'));
  describe('areas', () => areasSuite('node-red'));
  describe('approval', () => approvalSuite('node-red'));
  describe('containment', () => containmentSuite('node-red'));
  describe('a login by message', () => loginSuite('node-red'));
  describe('transfers and backups', () => transfersSuite('node-red'));
  describe('progress', () => progressSuite());
  describe('diagnostics', () => observingSuite('node-red'));
  describe('the test button', () => testButtonSuite('node-red'));
});
