import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startTestSimulator } from '../helpers/simulated-appliance';
import { createTemporaryFolder } from '../helpers/temporary';
import { inBothEditors } from './rig';

inBothEditors('the dialog of the appliance node', (rig) => {
  const shown = async (): Promise<string[]> =>
    rig.editor.page.$$eval('.gateway-form-config .form-row input, .gateway-form-config .form-row select', (inputs) =>
      inputs.filter((input) => input.checkVisibility()).map((input) => input.id.replace('node-config-input-', '')),
    );

  it('the dialog of an appliance stores all properties and credentials unchanged', async () => {
    const before = await rig.editor.exported('ap1');
    await rig.editor.openNode('ap1');
    await rig.editor.done();
    expect(await rig.editor.exported('ap1')).toMatchObject(before);
    await rig.editor.openNode('ap1');
    await rig.editor.input('node-config-input-login', 'key');
    await rig.editor.input('node-config-input-apiKey', 'planted-4');
    await rig.editor.input('node-config-input-connections', '4');
    await rig.editor.input('node-config-input-url', ' https://vpn.example.com/path ');
    await rig.editor.done();
    expect(await rig.editor.exported('ap1')).toMatchObject({
      login: 'key',
      connections: '4',
      url: 'https://vpn.example.com/path',
      credentials: { apiKey: 'planted-4' },
    });
  });

  it('the dialog of an appliance stores the guard rails, and shows them unfolded if one is set', async () => {
    const guards = { permissions: 'read-only', pin: 'A1 B2', rate: '2.5', waiting: '0' };
    await rig.editor.openNode('ap2');
    expect(await rig.editor.visible('#node-config-input-pin')).toBe(false);
    await rig.editor.page.click('.gateway-guards > summary');
    expect(await rig.editor.page.inputValue('#node-config-input-permissions')).toBe('full');
    for (const [name, value] of Object.entries({ ...guards, rate: '0', waiting: 'x' }))
      await rig.editor.input(`node-config-input-${name}`, value);
    expect(await rig.editor.text('[data-error="rate"]')).toMatch(/requests\/s/);
    expect(await rig.editor.text('[data-error="waiting"]')).toMatch(/whole number/);
    for (const [name, value] of Object.entries(guards)) await rig.editor.input(`node-config-input-${name}`, value);
    for (const name of ['rate', 'waiting']) expect(await rig.editor.visible(`[data-error="${name}"]`)).toBe(false);
    expect(await rig.editor.overflowing()).toEqual([]);
    await rig.editor.done();
    expect(await rig.editor.exported('ap2')).toMatchObject(guards);
    await rig.editor.openNode('ap2');
    expect(await rig.editor.visible('#node-config-input-pin')).toBe(true);
    for (const name of ['rate', 'waiting', 'pin']) await rig.editor.input(`node-config-input-${name}`, '');
    await rig.editor.input('node-config-input-permissions', 'full');
    await rig.editor.done();
  });

  it('the dialog of an appliance stores the journal folder, and shows *Advanced* unfolded if one is set', async () => {
    await rig.editor.openNode('ap2');
    expect(await rig.editor.visible('#node-config-input-journal')).toBe(false);
    await rig.editor.page.click('.gateway-advanced > summary');
    expect(await rig.editor.page.getAttribute('#node-config-input-journal', 'placeholder')).not.toBe('');
    expect(await rig.editor.page.inputValue('#node-config-input-journal')).toBe('');
    await rig.editor.input('node-config-input-journal', '/var/lib/gateway/journal');
    expect(await rig.editor.overflowing()).toEqual([]);
    await rig.editor.done();
    expect(await rig.editor.exported('ap2')).toMatchObject({ journal: '/var/lib/gateway/journal' });
    await rig.editor.openNode('ap2');
    expect(await rig.editor.visible('#node-config-input-journal')).toBe(true);
    await rig.editor.input('node-config-input-journal', '');
    await rig.editor.done();
    expect(await rig.editor.exported('ap2')).toMatchObject({ journal: '' });
    await rig.editor.openNode('ap2');
    expect(await rig.editor.visible('#node-config-input-journal')).toBe(false);
    await rig.editor.cancel();
  });

  it('the dialog of an appliance shows only the rows that the selected login needs', async () => {
    await rig.editor.openNode('ap2');
    expect(await shown()).toEqual(['name', 'url', 'login', 'realm', 'username', 'password', 'secondFactor', 'tls', 'proxy']);
    await rig.editor.input('node-config-input-secondFactor', 'totp');
    expect(await shown()).toEqual(expect.arrayContaining(['secondUsername', 'totpSecret']));
    await rig.editor.input('node-config-input-login', 'legacy');
    expect(await shown()).toEqual(['name', 'url', 'login', 'username', 'password', 'tls', 'proxy']);
    await rig.editor.input('node-config-input-login', 'key');
    expect(await shown()).toEqual(['name', 'url', 'login', 'apiKey', 'tls', 'proxy']);
    expect(await rig.editor.overflowing()).toEqual([]);
    await rig.editor.cancel();
  });

  it('the editor never reports an appliance node as unused, because a message can name an appliance', async () => {
    const asDeployAsks = await rig.editor.unused();
    expect(await rig.editor.unused(true)).toContain('ap2');
    expect(asDeployAsks).not.toContain('ap2');
  });

  it('the dialog of an appliance marks an empty input as an error only after the user used the input', async () => {
    await rig.editor.openNode('ap2');
    expect(await rig.editor.visible('[data-error="password"]')).toBe(false);
    await rig.editor.input('node-config-input-password', '');
    expect(await rig.editor.text('[data-error="password"]')).toMatch(/enter the administrator/);
    await rig.editor.input('node-config-input-username', 'a:b');
    expect(await rig.editor.text('[data-error="username"]')).toMatch(/colon/);
    await rig.editor.cancel();
  });

  it.each([
    ['', /enter the address/],
    ['vpn.example.com', /not a valid address/],
    ['https://admin:secret@vpn.example.com', /their own fields/],
    ['https://vpn.example.com/?a=b', /remove everything/],
    ['http://vpn.example.com', /unencrypted/],
    ['ftp://vpn.example.com', /begin with https/],
    ['http://127.0.0.1:8080', /^$/],
    ['https://vpn.example.com/prefix', /^$/],
    ['${APPLIANCE_URL}', /^$/],
  ])('the dialog of an appliance rejects the URL %j with the error %s', async (url, words) => {
    await rig.editor.openNode('ap2');
    await rig.editor.input('node-config-input-url', url);
    expect(await rig.editor.text('[data-error="url"]')).toMatch(words);
    await rig.editor.cancel();
  });

  it('the dialog of an appliance sends its current values to the connection test, and shows the response as plain text', async () => {
    let sent: Record<string, unknown> = {};
    const answers = [
      { ok: true, system: { 'host-name': 'vpn-1', 'hardware-model': 'M1', 'os-version': '9.1' }, ms: 41.6 },
      { ok: false, code: 'TLS', reason: 'DEPTH_ZERO_SELF_SIGNED_CERT', message: '<img src=x onerror=alert(1)> is not trusted' },
    ];
    await rig.editor.page.route('**/gateway-appliance/test', async (route) => {
      sent = route.request().postDataJSON() as Record<string, unknown>;
      await route.fulfill({ json: answers.shift() });
    });
    await rig.editor.openNode('ap1');
    await rig.editor.input('node-config-input-login', 'realm');
    await rig.editor.page.click('#gateway-test');
    await rig.editor.page.waitForSelector('.gateway-good');
    expect(await rig.editor.text('.gateway-test-heading')).toBe('Connected to vpn-1 in 42 ms.');
    expect(sent).toMatchObject({
      id: 'ap1',
      realm: 'Admin Users',
      tls: '',
      credentials: { username: 'admin', password: '__PWRD__', apiKey: 'planted-4' },
    });
    await rig.editor.page.click('#gateway-test');
    await rig.editor.page.waitForSelector('.gateway-bad');
    expect(await rig.editor.text('.gateway-test-heading')).toMatch(/certificate/);
    expect(await rig.editor.text('.gateway-test-result')).toContain('<img src=x');
    await rig.editor.page.unroute('**/gateway-appliance/test');
    await rig.editor.cancel();
  });

  it('the dialog of an appliance offers to pin the responding appliance, and shows whether it is the pinned one', async () => {
    const system = { 'host-name': 'vpn-1', 'serial-number': '<b>A1</b>', 'machine-id': 'M9' };
    await rig.editor.page.route('**/gateway-appliance/test', (route) => route.fulfill({ json: { ok: true, system, ms: 1 } }));
    await rig.editor.openNode('ap2');
    const test = async (): Promise<void> => {
      await rig.editor.page.click('#gateway-test');
      await rig.editor.page.waitForSelector('.gateway-good');
    };
    await test();
    expect(await rig.editor.text('.gateway-pin')).toBe('Pin to <b>A1</b>');
    await rig.editor.page.click('.gateway-pin');
    expect(await rig.editor.page.inputValue('#node-config-input-pin')).toBe('<b>A1</b>');
    expect(await rig.editor.visible('#node-config-input-pin')).toBe(true);
    await rig.editor.input('node-config-input-pin', 'other, m9');
    await test();
    expect(await rig.editor.text('.gateway-test-result')).toContain('The pinned appliance responded.');
    expect(await rig.editor.page.$$('.gateway-pin')).toEqual([]);
    await rig.editor.input('node-config-input-pin', 'other');
    await test();
    expect(await rig.editor.text('.gateway-test-result .gateway-warning')).toBe(
      'Another appliance than the pinned one responded. Nothing will be written to it.',
    );
    expect(await rig.editor.visible('.gateway-pin')).toBe(true);
    await rig.editor.page.unroute('**/gateway-appliance/test');
    await rig.editor.cancel();
  });

  it('the dialog of an appliance shows the connection error for a port where no server listens', async () => {
    await rig.editor.openNode('ap2');
    await rig.editor.input('node-config-input-url', 'https://127.0.0.1:1');
    await rig.editor.input('node-config-input-username', 'admin');
    await rig.editor.input('node-config-input-password', 'secret');
    await rig.editor.page.click('#gateway-test');
    await rig.editor.page.waitForSelector('.gateway-bad');
    expect(await rig.editor.text('.gateway-test-heading')).toBe('No server listens at that address and port.');
    await rig.editor.cancel();
  });

  it('the dialog of a rehearsing appliance resets the copy, shows its changes, and names the target of the connection test', async () => {
    const { editor } = rig;
    const folder = createTemporaryFolder();
    (await startTestSimulator({ name: 'vpn-1' })).save(folder);
    const target = (): Promise<string> => editor.text('.gateway-test-target');
    const result = (): Promise<string> => editor.text('.gateway-rehearsal-result');
    await editor.openNode('ap1');
    expect(await editor.visible('.gateway-test-target')).toBe(false);
    await editor.input('node-config-input-rehearsal', folder);
    expect(await target()).toMatch(/uses the copy/);
    // The buttons work with the deployed folder only.
    expect(await editor.visible('#gateway-rehearsal-reset')).toBe(false);
    await editor.done();
    await editor.deploy();
    const badge = (): Promise<string> => editor.page.evaluate(() => document.querySelector('#tr1 .gateway-marks')?.textContent ?? '');
    await expect.poll(badge).toMatch(/rehearsal/);

    await editor.openNode('ap1');
    await editor.page.click('#gateway-rehearsal-compare');
    await expect.poll(result, { timeout: 20_000 }).toBe('The copy does not differ from the snapshot.');
    const file = join(folder, 'system', 'log', 'syslog.json');
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, before.replace('{', '{ "added-in-the-snapshot": "yes",'));
    await editor.page.click('#gateway-rehearsal-compare');
    await expect.poll(result, { timeout: 20_000 }).toBe('0 added, 0 removed, 1 changed.');
    expect(await editor.text('.gateway-rehearsal-text')).toContain('added-in-the-snapshot');
    await editor.page.click('#gateway-rehearsal-reset');
    await expect.poll(result, { timeout: 20_000 }).toBe('The copy is as in the snapshot.');

    await editor.input('node-config-input-rehearsal', '');
    expect(await target()).toMatch(/uses the URL/);
    expect(await editor.visible('#gateway-rehearsal-reset')).toBe(false);
    await editor.done();
    await editor.deploy();
    await expect.poll(badge).not.toMatch(/rehearsal/);
  });
});
