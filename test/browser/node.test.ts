import { afterEach, describe, expect, it } from 'vitest';
import { inBothEditors, TRIAL } from './rig';

inBothEditors('the dialog of an action node', (rig) => {
  describe('fields', () => {
    afterEach(() => rig.editor.cancel());

    it('a dialog shows where each field takes its value from by default', async () => {
      await rig.editor.openNode('tr1');
      const words = async (name: string): Promise<string> => rig.editor.text(`[data-field="${name}"] .gateway-default`);
      expect(await words('server')).toBe('from msg.payload.server, or type a value');
      expect(await words('amount')).toBe('from msg.payload.amount, else 3');
      expect(await words('max')).toBe('25, or type a value');
      expect(await words('limit')).toBe('no limit, or type a value');
      expect(await words('file')).toBe('not set, or type a value');
      expect(await words('mode')).toBe('optional: from msg.payload.mode, or type a value');
      expect(await words('body')).toBe('from msg.payload.body, or type a value');
      await rig.editor.setField('server', { type: 'str', value: 'x' });
      await rig.editor.setField('password', { type: 'msg', value: 'x' });
      expect(await words('body')).toBe('from msg.payload.body or msg.payload, or type a value');
    });

    it('a field shows in words that it is required', async () => {
      await rig.editor.openNode('tr1');
      expect(await rig.editor.text('[data-field="server"] label')).toMatch(/^Server ?required$/);
      expect(await rig.editor.text('[data-field="amount"] label')).toBe('Amount');
    });

    it('a field that is true or false is shown as a checkbox', async () => {
      await rig.editor.openNode('tr1');
      const box = rig.editor.page.locator('[data-field="enabled"] .gateway-boolean');
      expect(await box.evaluate((element) => (element as HTMLInputElement).indeterminate)).toBe(true);
      await box.click();
      expect(await rig.editor.field('enabled')).toEqual({ type: 'bool', value: 'true' });
      await box.click();
      expect(await rig.editor.field('enabled')).toEqual({ type: 'bool', value: 'false' });
      await rig.editor.setField('enabled', { type: 'msg', value: 'on' });
      expect(await box.evaluate((element) => (element as HTMLInputElement).indeterminate)).toBe(true);
    });

    it('a dialog shows at most five fields at first, and also the others if one of them is set', async () => {
      const read = (): Promise<{ visible: number; open: boolean }> =>
        rig.editor.page.evaluate(() => ({
          visible: document.querySelectorAll('.gateway-fields > .gateway-field:not([style*="none"])').length,
          open: document.querySelector<HTMLDetailsElement>('.gateway-more-fields')?.open ?? false,
        }));
      await rig.editor.openNode('tr1', false);
      expect(await read()).toEqual({ visible: 5, open: false });
      expect(await rig.editor.text('.gateway-more-fields summary')).toMatch(/^More \(\d+\)$/);
      await rig.editor.cancel();
      await rig.editor.import([{ ...TRIAL, id: 'more1', fields: { cert: { type: 'msg', value: 'cert' } }, wires: [[]] }]);
      await rig.editor.openNode('more1', false);
      expect(await read()).toEqual({ visible: 5, open: true });
    });

    it('a required guard shows an error until it has a value', async () => {
      const backup = { id: 'nightly', type: 'gateway-backup', z: 'f1', x: 200, y: 320, appliance: 'ap1', operation: 'run', wires: [[]] };
      await rig.editor.import([backup]);
      await rig.editor.openNode('nightly');
      const row = rig.editor.page.locator('[data-field="folder"]');
      const state = async (): Promise<[string, number]> => [
        await rig.editor.text('[data-field="folder"] .gateway-error'),
        await row.locator('.input-error').count(),
      ];
      expect(await state()).toEqual([expect.stringMatching(/^Required\./), expect.any(Number)]);
      expect((await state())[1]).toBeGreaterThan(0);
      await rig.editor.setField('folder', { type: 'str', value: '/var/backups/gateway' });
      expect(await state()).toEqual(['', 0]);
      await rig.editor.setField('folder', { type: 'str', value: '' });
      expect((await state())[1]).toBeGreaterThan(0);
    });

    it('a field shows an error for an invalid number immediately', async () => {
      const backup = { id: 'nightly2', type: 'gateway-backup', z: 'f1', x: 200, y: 380, appliance: 'ap1', operation: 'run', wires: [[]] };
      await rig.editor.import([backup]);
      await rig.editor.openNode('nightly2');
      for (const [name, value, words] of [
        ['keep', '0', /whole number of at least 1/],
        ['keep', '1.5', /whole number of at least 1/],
        ['keep', '30', /^$/],
        ['keep-days', '-1', /greater than 0/],
        ['keep-days', '0.5', /^$/],
      ] as const) {
        await rig.editor.setField(name, { type: 'num', value });
        expect(await rig.editor.text(`[data-field="${name}"] .gateway-error`)).toMatch(words);
      }
    });

    it('a dialog keeps typed values while another operation is selected', async () => {
      await rig.editor.openNode('tr1');
      await rig.editor.setField('server', { type: 'str', value: 'typed' });
      await rig.editor.setField('mode', { type: 'str', value: 'slow' });
      await rig.editor.chooseOperation('wipe');
      expect(await rig.editor.shownFields()).toEqual([]);
      await rig.editor.chooseOperation('create');
      expect(await rig.editor.field('server')).toEqual({ type: 'str', value: 'typed' });
      expect(await rig.editor.field('mode')).toEqual({ type: 'str', value: 'slow' });
    });

    it('a dialog never turns a secret into a property name', async () => {
      await rig.editor.openNode('tr1');
      await rig.editor.setField('password', { type: 'cred', value: 'hunter2' });
      await rig.editor.set('#gateway-field-password', 'msg');
      expect(await rig.editor.field('password')).toEqual({ type: 'msg', value: '' });
      await rig.editor.set('#gateway-field-password', 'cred');
      expect(await rig.editor.field('password')).toEqual({ type: 'cred', value: 'hunter2' });
    });

    it('a field shows an error text for each invalid value', async () => {
      await rig.editor.openNode('tr1');
      await rig.editor.setField('server', { type: 'str', value: '' });
      expect(await rig.editor.complaint('server')).toBe('The value is empty. Enter a value, or select default.');
      await rig.editor.setField('body', { type: 'json', value: '[1]' });
      expect(await rig.editor.complaint('body')).toBe('Enter a JSON object: { … }.');
      await rig.editor.setField('body', { type: 'json', value: '{"a":' });
      expect(await rig.editor.complaint('body')).not.toBe('');
      await rig.editor.setField('max', { type: 'num', value: 'many' });
      expect(await rig.editor.complaint('max')).not.toBe('');
      await rig.editor.setField('max', { type: 'num', value: '${MAX}' });
      expect(await rig.editor.complaint('max')).toBe('');
      await rig.editor.setField('password', { type: 'cred', value: '' });
      expect(await rig.editor.complaint('password')).not.toBe('');
    });
  });

  describe('secrets', () => {
    it('the dialog keeps unchanged secrets in the credentials', async () => {
      await rig.editor.openNode('tr2');
      expect(await rig.editor.field('password')).toEqual({ type: 'cred', value: '__PWRD__' });
      await rig.editor.input('node-input-name', 'renamed');
      await rig.editor.done();
      const node = await rig.editor.exported('tr2');
      expect(node).toMatchObject({
        name: 'renamed',
        fields: { password: { type: 'cred', value: '' }, server: { type: 'str', value: 'Local' } },
      });
      expect(node.credentials).toBeUndefined();
    });

    it('the dialog stores entered secrets as credentials, never in the flow', async () => {
      await rig.editor.openNode('tr2');
      await rig.editor.setField('code', { type: 'cred', value: 'planted-3' });
      await rig.editor.done();
      const { credentials, ...rest } = await rig.editor.exported('tr2');
      expect(credentials).toEqual({ code: 'planted-3' });
      expect(JSON.stringify(rest)).not.toContain('planted');
      expect(rest.fields).toMatchObject({ code: { type: 'cred', value: '' } });
    });

    it('the dialog removes a secret together with its field', async () => {
      await rig.editor.openNode('tr2');
      await rig.editor.chooseOperation('wipe');
      await rig.editor.done();
      const node = await rig.editor.exported('tr2');
      expect(node.fields).toEqual({});
      expect(node.credentials).toMatchObject({ password: '' });
      await rig.editor.undo();
      expect((await rig.editor.exported('tr2')).fields).toHaveProperty('password');
    });
  });

  describe('the node', () => {
    it('the node has an output for failures only while the option is set', async () => {
      await rig.editor.openNode('sessions-list');
      await rig.editor.input('node-input-failures', 'output');
      await rig.editor.done();
      expect(await rig.editor.exported('sessions-list')).toMatchObject({ failures: 'output', outputs: 2, wires: [['end'], []] });
      await rig.editor.openNode('sessions-list');
      await rig.editor.input('node-input-failures', 'catch');
      await rig.editor.done();
      expect(await rig.editor.exported('sessions-list')).toMatchObject({ failures: 'catch', outputs: 1, wires: [['end']] });
      expect((await rig.editor.exported('start')).wires).toEqual([['sessions-list', 'tr1']]);
    });

    it('the node adds the output for approvals as the last one, and keeps its wires on it', async () => {
      const id = 'sessions-kill';
      const minutes = (): Promise<boolean> => rig.editor.visible('.gateway-approval-minutes');
      const set = async (values: Record<string, string | boolean>): Promise<Record<string, unknown>> => {
        await rig.editor.openNode(id);
        for (const [name, value] of Object.entries(values)) await rig.editor.input(`node-input-${name}`, value);
        await rig.editor.done();
        return rig.editor.exported(id);
      };
      await rig.editor.openNode('sessions-list');
      expect(await rig.editor.visible('.gateway-approval')).toBe(false);
      await rig.editor.cancel();
      await rig.editor.openNode(id);
      expect([await rig.editor.visible('#node-input-approval'), await minutes()]).toEqual([true, false]);
      await rig.editor.input('node-input-approval', true);
      expect([await minutes(), await rig.editor.page.inputValue('#node-input-approvalMinutes')]).toEqual([true, '60']);
      await rig.editor.cancel();
      expect(await set({ approval: true, approvalMinutes: '90' })).toMatchObject({ approval: true, outputs: 2, wires: [['end'], []] });
      await rig.editor.wire(id, 1, 'end');
      expect(await set({ failures: 'output' })).toMatchObject({ outputs: 3, wires: [['end'], [], ['end']] });
      expect(String((await rig.editor.exported(id)).approvalMinutes)).toBe('90');
      expect(await rig.editor.portLabels(id)).toEqual(['result', 'failure', 'to approve']);
      expect(await set({ failures: 'catch' })).toMatchObject({ outputs: 2, wires: [['end'], ['end']] });
      expect(await set({ approval: false })).toMatchObject({ approval: false, outputs: 1, wires: [['end']] });
      await set({ approval: true, approvalMinutes: '0' });
      expect((await rig.editor.verdict(id)).errors.join()).toMatch(/approvalMinutes|Expires after/);
      await set({ approval: false, approvalMinutes: '60' });
    });

    it('the dialog of a handwritten node shows the defaults of the runtime, and keeps properties and wires', async () => {
      const silent = { type: 'gateway-trial', z: 'f1', x: 200, y: 240, appliance: 'ap1', operation: 'create' };
      await rig.editor.import([
        { ...silent, id: 'bare1', wires: [['bare3']] },
        { ...silent, id: 'bare2', failures: 'output', wires: [['bare3'], ['bare3']] },
        { id: 'bare3', type: 'debug', z: 'f1', x: 460, y: 240, wires: [] },
      ]);
      for (const [id, failures, wires] of [
        ['bare1', 'catch', [['bare3']]],
        ['bare2', 'output', [['bare3'], ['bare3']]],
      ] as const) {
        expect(await rig.editor.exported(id)).toMatchObject({ outputs: wires.length, wires });
        await rig.editor.openNode(id);
        expect(await rig.editor.page.inputValue('#node-input-output')).toBe('payload');
        await rig.editor.done();
        expect(await rig.editor.exported(id)).toMatchObject({ output: 'payload', failures, outputs: wires.length, wires });
      }
    });

    it('the node undoes and redoes a change of the dialog', async () => {
      const read = async (): Promise<unknown> => (await rig.editor.exported('sessions-kill-matching')).fields;
      const before = await read();
      await rig.editor.openNode('sessions-kill-matching');
      await rig.editor.setField('max', { type: 'num', value: '11' });
      await rig.editor.done();
      const after = await read();
      expect(after).toMatchObject({ max: { type: 'num', value: '11' } });
      await rig.editor.undo();
      expect(await read()).toEqual(before);
      await rig.editor.redo();
      expect(await read()).toEqual(after);
      expect((await rig.editor.verdict('sessions-kill-matching')).ports).toBe(1);
    });

    it('the node keeps its fields when it is copied, deleted, and restored', async () => {
      await rig.editor.openNode('tr1');
      await rig.editor.setField('server', { type: 'str', value: 'Branch' });
      await rig.editor.done();
      const { fields } = await rig.editor.exported('tr1');
      const copy = await rig.editor.copied('tr1');
      expect(copy).toMatchObject({ type: 'gateway-trial', fields });
      await rig.editor.openNode(copy.id);
      await rig.editor.setField('server', { type: 'str', value: 'Main' });
      await rig.editor.done();
      expect((await rig.editor.exported('tr1')).fields).toEqual(fields);
      await rig.editor.remove('tr1');
      await rig.editor.undo();
      expect(await rig.editor.exported('tr1')).toMatchObject({ fields, outputs: 1, wires: [['end']] });
      expect((await rig.editor.verdict('tr1')).ports).toBe(1);
    });

    it('the editor completes a handwritten node that has no fields and no output', async () => {
      await rig.editor.import([{ ...TRIAL, fields: undefined, id: 'old1' }]);
      expect((await rig.editor.exported('old1')).fields).toEqual({});
      expect((await rig.editor.verdict('old1')).ports).toBe(1);
      await rig.editor.openNode('old1');
      await rig.editor.setField('server', { type: 'str', value: 'Branch' });
      await rig.editor.done();
      await rig.editor.remove('old1');
      await rig.editor.undo();
      expect((await rig.editor.exported('old1')).fields).toMatchObject({ server: { value: 'Branch' } });
    });

    it('the dialog clears the appliance when the user selects that each message names it', async () => {
      await rig.editor.openNode('tr1');
      await rig.editor.input('gateway-by-message', true);
      expect(await rig.editor.visible('.gateway-appliance')).toBe(false);
      await rig.editor.done();
      expect(await rig.editor.exported('tr1')).toMatchObject({ appliance: '', applianceFrom: 'msg' });
      expect((await rig.editor.verdict('tr1')).errors).toEqual([]);
      await rig.editor.openNode('tr1');
      await rig.editor.input('gateway-by-message', false);
      await rig.editor.input('node-input-appliance', 'ap2');
      await rig.editor.done();
      expect(await rig.editor.exported('tr1')).toMatchObject({ appliance: 'ap2', applianceFrom: '' });
    });

    it('the node shows all fields of its area if a message selects the operation', async () => {
      await rig.editor.openNode('tr3');
      expect(await rig.editor.shownFields()).toEqual(expect.arrayContaining(['server', 'password', 'code', 'body']));
      expect(await rig.editor.visible('.gateway-allow-destroy')).toBe(true);
      await rig.editor.done();
      expect(await rig.editor.exported('tr3')).toMatchObject({
        operation: 'payload.operation',
        operationType: 'msg',
        allowDestroy: true,
        applianceFrom: 'msg',
      });
    });

    it('the dialog of gateway-config groups its operations by what a user wants to do', async () => {
      await rig.editor.openNode('config-get');
      await rig.editor.page.click('#node-input-operation + .red-ui-typedInput-container .red-ui-typedInput-option-trigger');
      const labels = await rig.editor.page.$$eval('.red-ui-typedInput-options:not([style*="none"]) a', (options) =>
        options.map((option) => (option.textContent ?? '').trim()),
      );
      const groups = labels.map((label) => label.split(': ')[0]);
      expect([...new Set(groups)]).toEqual(['Read', 'Change', 'Add', 'Remove']);
      expect(labels.find((label) => label.startsWith('Change: '))).toMatch(/^Change: Ensure /);
      await rig.editor.page.keyboard.press('Escape');
      await rig.editor.cancel();
    });

    it('the node keeps an unknown operation and reports it', async () => {
      await rig.editor.import([{ ...TRIAL, id: 'tr4', operation: 'explode', wires: [[]] }]);
      expect((await rig.editor.verdict('tr4')).errors).toEqual(['Operation: this node has no operation explode. Select another one.']);
      await rig.editor.openNode('tr4');
      expect(await rig.editor.text('.gateway-operation-error')).toBe('Operation: this node has no operation explode. Select another one.');
      await rig.editor.done();
      expect(await rig.editor.exported('tr4')).toMatchObject({ operation: 'explode', operationType: 'op' });
    });

    it('the node deploys fields and credentials separately, and loads both unchanged', async () => {
      await rig.editor.openNode('tr1');
      await rig.editor.setField('server', { type: 'str', value: 'Local' });
      await rig.editor.setField('password', { type: 'cred', value: 'planted-5' });
      await rig.editor.done();
      await rig.editor.deploy();
      const fields = { server: { type: 'str', value: 'Local' }, password: { type: 'cred', value: '' } };
      const flows = rig.read('flows.json') as { id: string; fields?: unknown }[];
      expect(flows.find(({ id }) => id === 'tr1')?.fields).toEqual(fields);
      expect(flows.filter((node) => 'inputs' in node)).toEqual([]);
      expect(rig.read('flows_cred.json')).toMatchObject({ tr1: { password: 'planted-5' } });
      await rig.editor.reload('tr1');
      expect((await rig.editor.exported('tr1')).fields).toEqual(fields);
      expect((await rig.editor.exported('start')).wires).toEqual([['sessions-list', 'tr1']]);
      await rig.editor.openNode('tr1');
      expect(await rig.editor.field('password')).toEqual({ type: 'cred', value: '__PWRD__' });
      await rig.editor.done();
      expect(await rig.editor.dirty()).toBe(false);
    });

    it('the node reports missing fields while the dialog is closed', async () => {
      const fields = { body: { type: 'json', value: '{' }, max: { type: 'num', value: '' }, server: { type: 'str', value: '${SERVER}' } };
      await rig.editor.import([{ ...TRIAL, id: 'tr5', appliance: '', fields, output: 'req.body', wires: [[]] }]);
      const { errors } = await rig.editor.verdict('tr5');
      // In the order of the form; nothing is wired to it that could bring the password.
      expect(errors.join('\n')).toMatch(/^Appliance: .*\nPassword: no node .*\nMax: The value is empty.*\nBody: [^]*msg\.req is reserved/);
      expect(errors).toHaveLength(5);
    });

    it('the node hides the dry run of a read, and marks a destructive operation', async () => {
      await rig.editor.openNode('sessions-list');
      expect(await rig.editor.visible('.gateway-dry-run')).toBe(false);
      await rig.editor.chooseOperation('kill-all');
      expect(await rig.editor.visible('.gateway-dry-run')).toBe(true);
      expect(await rig.editor.visible('.gateway-destroys')).toBe(true);
      await rig.editor.cancel();
    });
  });
});
