import { describe } from 'vitest';
import { approval } from './support/nodes-approval';
import { containing } from './support/nodes-contain';
import { areas, login } from './support/nodes-areas';
import { fields } from './support/nodes-fields';
import { life } from './support/nodes-life';
import { messages } from './support/nodes-messages';
import { observing } from './support/nodes-observing';
import { setup } from './support/nodes-setup';
import { testButton } from './support/nodes-test-button';
import { progress, transfers } from './support/nodes-transfer';

describe('nodes in Node-RED 4.1', () => {
  describe('messages', () => messages('node-red'));
  describe('fields', () => fields('node-red'));
  describe('setup', () => setup('node-red'));
  describe('life', () => life('node-red'));
  describe('areas', () => areas('node-red'));
  describe('approval', () => approval('node-red'));
  describe('containing', () => containing('node-red'));
  describe('a login by message', () => login('node-red'));
  describe('transfers and backups', () => transfers('node-red'));
  describe('progress', () => progress());
  describe('observing', () => observing('node-red'));
  describe('the test button', () => testButton('node-red'));
});
