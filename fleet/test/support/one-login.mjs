// @ts-check
// node one-login.mjs: a process that logs in to an appliance with a one-time code after the message `{ at }`, which sets its clock. It shares
// state with other processes only through the database.
import { createRequire } from 'node:module';
import process from 'node:process';

const require = createRequire(import.meta.url);
const { Database, LeaseCoordination } = require('../../dist/engine/index.js');
/** @type {typeof import('../../../src/index.js')} */
const { Gateway } = require('@gateway-admin/node-red');

const { settings, database: address } = JSON.parse(process.env['ONE_LOGIN'] ?? '');
const database = new Database(address);
const gateway = new Gateway(settings, { coordination: new LeaseCoordination(database) });
process.once('message', async ({ at }) => {
  const real = Date.now;
  const ahead = at - real();
  Date.now = () => real() + ahead;
  const end = await gateway.run('system.info').then(
    () => 'ok',
    (/** @type {Error} */ { message }) => message,
  );
  process.send?.(end);
  gateway.close();
  await database.close();
  process.disconnect();
});
process.send?.('ready');
