import { describe } from 'vitest';
import { approvalSuite } from '../suites/approval';
import { containmentSuite } from '../suites/contain';
import { areasSuite, loginSuite } from '../suites/areas';
import { fieldsSuite } from '../suites/fields';
import { manyAppliancesSuite } from '../suites/many-appliances';
import { lifecycleSuite } from '../suites/life-cycle';
import { messagesSuite } from '../suites/messages';
import { observingSuite } from '../suites/observing';
import { secretsSuite } from '../suites/secrets';
import { configurationSuite } from '../suites/setup';
import { testButtonSuite } from '../suites/test-button';
import { transfersSuite } from '../suites/transfer';

describe('nodes in Node-RED 5.0', () => {
  describe('messages', () => messagesSuite('node-red-v5'));
  describe('fields', () => fieldsSuite('node-red-v5'));
  describe('setup', () => configurationSuite('node-red-v5'));
  describe('life cycle', () => lifecycleSuite('node-red-v5'));
  describe('areas', () => areasSuite('node-red-v5'));
  describe('approval', () => approvalSuite('node-red-v5'));
  describe('containment', () => containmentSuite('node-red-v5'));
  describe('many appliances', () => manyAppliancesSuite('node-red-v5'));
  describe('a login by message', () => loginSuite('node-red-v5'));
  describe('transfers and backups', () => transfersSuite('node-red-v5'));
  describe('diagnostics', () => observingSuite('node-red-v5'));
  describe('secrets', () => secretsSuite('node-red-v5'));
  describe('the test button', () => testButtonSuite('node-red-v5'));
});
