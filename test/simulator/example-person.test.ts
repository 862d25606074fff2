import { expect, it } from 'vitest';
import { addExamplePerson } from '../../src/simulator/example-person';
import { startSimulatorWithGateway } from '../helpers/simulated-appliance';

it('the simulator has an account and two sessions for the user of the examples', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 5 });
  addExamplePerson(simulator);
  const disabled = await gateway.run('users.disable', { server: 'System Local', username: 'j.doe' });
  expect(disabled.envelope.summary).toBe('Disabled j.doe on System Local.');
  const { envelope } = await gateway.run('sessions.kill-user', { name: 'j.doe' });
  expect(envelope.summary).toBe('Ended 2 of 2 sessions of j.doe.');
});
