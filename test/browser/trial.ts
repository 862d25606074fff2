import { appendFileSync, cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildEditor } from '../../scripts/build-editor.mjs';
import { root } from '../../scripts/tools.mjs';

/**
 * An area with every kind of field, secrets, guards, and a name that two operations use differently. It exists only in the compiled registry
 * of a copy of the package, so the dialogs cannot know it.
 */
const AREA = `
const {
  defineArea: area, defineOperation: op, textField: text, numberField: number, booleanField: boolean, choiceField: choice, objectField: object,
  listField: list, pathField: path, recordsField: records, dataField: data, requiredField: required, payloadField: subject,
} = require('../model/operation');
exports.areas.push(area({
  name: 'trial', label: 'Gateway trial', help: 'One of everything.', icon: 'gateway-users.svg', color: '#E2D96E',
  operations: {
    wipe: op({
      effect: 'destroy', label: 'Wipe', help: 'Removes it.', data: 'result', fields: {},
      request: () => ({ method: 'DELETE', path: '/api/v1/x' }), example: { input: {}, request: 'DELETE /api/v1/x' },
    }),
    create: op({
      effect: 'write', label: 'Create', help: 'Makes one of \`everything\`.', data: 'result',
      fields: {
        server: required(text('Server', 'Its name.', { example: 'Local' })),
        password: required(text('Password', 'In clear.', { secret: true })),
        code: text('Code', 'Another secret.', { secret: true }),
        amount: number('Amount', 'A number.', { default: 3 }),
        max: number('Max', 'A guard.', { guard: true, default: 25 }),
        limit: number('Limit', 'A guard without default.', { guard: true }),
        file: text('File', 'A place.', { guard: true }),
        enabled: boolean('Enabled', 'A switch.'),
        mode: choice('Mode', 'A choice.', ['fast', 'slow']),
        names: list('Names', 'Texts.'),
        path: path('Path', 'A path.'),
        people: records('People', 'Records.'),
        cert: data('Certificate', 'Bytes.'),
        body: subject(required(object('Body', 'The thing.'))),
      },
      request: () => ({ method: 'POST', path: '/api/v1/x' }), example: { input: {}, request: 'POST /api/v1/x' },
    }),
    login: op({
      effect: 'write', label: 'Log in', help: 'With a code.', data: 'result',
      fields: { code: subject(required(text('One-time code', 'Six digits.', { secret: true }))), mode: text('Mode', 'Any text here.') },
      request: () => ({ method: 'POST', path: '/api/v1/y' }), example: { input: {}, request: 'POST /api/v1/y' },
    }),
  },
}));
`;

/** Copies the compiled package to `folder`, adds the trial area and builds its editor half anew. */
export async function trialPackage(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  cpSync(join(root, 'dist', 'compiled'), join(folder, 'dist'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  appendFileSync(join(folder, 'dist', 'src', 'areas', 'index.js'), AREA);
  await buildEditor({ root, compiled: join(folder, 'dist'), out: join(folder, 'dist', 'nodes') });
  return folder;
}
