import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator';
import { inBothEditors } from './rig';

declare const RED: {
  nodes: {
    eachConfig(visit: (node: { id: string; type: string; verifyservercert?: boolean; credentials?: { cadata?: string } }) => void): void;
  };
};

inBothEditors('trusting a certificate', (rig) => {
  let sim: Simulator;
  beforeAll(async () => {
    sim = await startSimulator({ sessions: 3 });
  });
  afterAll(() => sim.close());

  const configurations = (): Promise<{ id: string; verify: boolean; ca: string }[]> =>
    rig.editor.page.evaluate(() => {
      const found: { id: string; verify: boolean; ca: string }[] = [];
      RED.nodes.eachConfig((node) => {
        if (node.type === 'tls-config' && node.id !== 'tls1')
          found.push({ id: node.id, verify: node.verifyservercert === true, ca: node.credentials?.cadata ?? '' });
      });
      return found;
    });

  async function press(): Promise<void> {
    await rig.editor.openNode('ap2');
    await rig.editor.input('node-config-input-url', sim.url);
    await rig.editor.input('node-config-input-username', 'api-admin');
    await rig.editor.input('node-config-input-password', 'simulator');
    await rig.editor.page.click('#gateway-test');
    await rig.editor.page.waitForSelector('.gateway-trust');
  }

  it('trusting a certificate takes one click after the connection test, and keeps verification on', async () => {
    await press();
    expect(await rig.editor.text('.gateway-chain')).toMatch(
      /Gateway simulator.*\d+ days left.*fingerprint.*([0-9A-F]{2}:){31}[0-9A-F]{2}/s,
    );
    await rig.editor.page.click('.gateway-trust');
    await rig.editor.page.waitForSelector('.gateway-good');
    await rig.editor.page.waitForFunction(() => document.querySelector('.gateway-test-result')?.textContent?.includes('Role'));
    expect(await rig.editor.text('.gateway-test-result')).toMatch(
      /Serial number .*clock.*Role \.Administrators: can read and write.*Can read/s,
    );
    const [made] = await configurations();
    expect(made).toMatchObject({ verify: true, ca: expect.stringContaining('BEGIN CERTIFICATE') as string });
    expect(await rig.editor.page.inputValue('#node-config-input-tls')).toBe(made?.id);
    await rig.editor.done();
    expect(await rig.editor.exported('ap2')).toMatchObject({ tls: made?.id });
    expect(await rig.editor.exported(made?.id ?? '')).toMatchObject({ type: 'tls-config', credentials: { cadata: made?.ca } });
    await rig.editor.undo();
  });

  it('Cancel removes a certificate that was trusted in the dialog', async () => {
    const before = await configurations();
    await rig.editor.openNode('ap2');
    await rig.editor.input('node-config-input-tls', '_ADD_');
    await rig.editor.cancel();
    await press();
    await rig.editor.page.click('.gateway-trust');
    await rig.editor.page.waitForSelector('.gateway-good');
    expect(await configurations()).toHaveLength(before.length + 1);
    await rig.editor.cancel();
    expect(await configurations()).toEqual(before);
  });

  it('trusting a certificate requires the password again if the address was changed', async () => {
    await rig.editor.openNode('ap1');
    const password = (): Promise<string> => rig.editor.page.inputValue('#node-config-input-password');
    const url = await rig.editor.page.inputValue('#node-config-input-url');
    expect(await password()).toBe('__PWRD__');
    await rig.editor.input('node-config-input-url', `${url}/prefix`);
    expect(await password()).toBe('__PWRD__');
    await rig.editor.input('node-config-input-url', 'https://elsewhere.example.com');
    expect([await password(), await rig.editor.text('[data-error="password"]')]).toEqual(['', expect.stringMatching(/again/) as string]);
    await rig.editor.input('node-config-input-url', url);
    expect([await password(), await rig.editor.text('[data-error="password"]')]).toEqual(['__PWRD__', '']);
    await rig.editor.cancel();
  });
});
