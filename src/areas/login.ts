import { defineArea, defineOperation, requiredField, payloadField, textField } from '../model/operation';

/** Explicit login with a second factor from a person or another system (appliance-api.md, "Authentication" 6). */
export const loginArea = defineArea({
  name: 'login',
  label: 'Gateway login',
  help: 'Logs in when a person or another system supplies the second factor.',
  icon: 'gateway-login.svg',
  color: '#46CE9C',
  operations: {
    login: defineOperation({
      effect: 'write',
      permissions: { reads: 'nothing except the login', writes: '–' },
      label: 'Log in',
      help: 'Starts a login. `pending` means that the appliance waits for a code; a pending login is not started again.',
      summary: {
        done: 'Logged in to __appliance__, or waiting for a code.',
        unchanged: 'Logged in to __appliance__ already, or still waiting for a code.',
      },
      data: '`{ state: "ready" }` or `{ state: "pending", resumeId }`',
      fields: {},
      run: (_input, call) => call.login.start(),
      example: { input: {}, request: 'POST /api/v1/realm_auth' },
    }),
    resume: defineOperation({
      effect: 'write',
      permissions: { reads: 'nothing except the login', writes: '–' },
      label: 'Answer with a code',
      help: 'Sends the code to the pending login. A code is sent only once; if the appliance rejects it, log in again.',
      summary: { done: 'Logged in to __appliance__ with a code.' },
      data: '`{ state: "ready" }`',
      fields: {
        code: payloadField(requiredField(textField('Code', 'The one-time code or second password.', { secret: true }))),
        resumeId: textField('Resume id', 'The `resumeId` of the login that needs the code. Empty: the pending login.'),
      },
      run: ({ code, resumeId }, call) => call.login.resume(code, resumeId),
      example: { input: { code: '123456', resumeId: 'r1' }, request: 'POST /api/v1/realm_auth' },
    }),
    forget: defineOperation({
      effect: 'write',
      permissions: { reads: 'nothing except the login', writes: '–' },
      label: 'Forget the key',
      help: 'Removes the API key from memory. On the appliance, the key stays valid until it expires.',
      summary: { done: 'Forgot the key of __appliance__.', unchanged: 'There was no key of __appliance__ to forget.' },
      data: '`{ state: "none" }`',
      fields: {},
      run: (_input, call) => Promise.resolve(call.login.forget()),
      example: { input: {}, request: '' },
    }),
  },
});
