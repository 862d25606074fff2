import { describe } from 'vitest';
import { approval } from './support/nodes-approval';
import { containing } from './support/nodes-contain';
import { areas, login } from './support/nodes-areas';
import { fields } from './support/nodes-fields';
import { fleet } from './support/nodes-fleet';
import { life } from './support/nodes-life';
import { messages } from './support/nodes-messages';
import { observing } from './support/nodes-observing';
import { secrets } from './support/nodes-secrets';
import { setup } from './support/nodes-setup';
import { testButton } from './support/nodes-test-button';
import { transfers } from './support/nodes-transfer';

describe('nodes in Node-RED 5.0', () => {
  describe('messages', () => messages('node-red-v5'));
  describe('fields', () => fields('node-red-v5'));
  describe('setup', () => setup('node-red-v5'));
  describe('life', () => life('node-red-v5'));
  describe('areas', () => areas('node-red-v5'));
  describe('approval', () => approval('node-red-v5'));
  describe('containing', () => containing('node-red-v5'));
  describe('many appliances', () => fleet('node-red-v5'));
  describe('a login by message', () => login('node-red-v5'));
  describe('transfers and backups', () => transfers('node-red-v5'));
  describe('observing', () => observing('node-red-v5'));
  describe('secrets', () => secrets('node-red-v5'));
  describe('the test button', () => testButton('node-red-v5'));
});
