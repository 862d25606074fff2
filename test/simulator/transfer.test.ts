import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Client, messages, start, stopAll } from './client';

const EXPORT = '/api/v1/system/maintenance/export-xml';
const IMPORT = '/api/v1/system/maintenance/import-xml';
const BINARY = '/api/v1/system/binary-configuration';
const ROLES = '/api/v1/configuration/users/user-roles/user-role';
const HTML = { 'content-type': 'text/html; charset=utf-8' };

afterEach(stopAll);

function form(parts: { name: string; value: string; filename?: string }[]): { body: string; headers: Record<string, string> } {
  const boundary = 'xYzZY--bound';
  const body = parts.map(
    ({ name, value, filename }) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename ? `; filename="${filename}"` : ''}\r\n\r\n${value}\r\n`,
  );
  return { body: `${body.join('')}--${boundary}--\r\n`, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } };
}

const importXml = (client: Client, xml: string, password = ''): Promise<Answer> =>
  client.send(
    'POST',
    IMPORT,
    form([{ name: 'file', value: xml, filename: 'c.xml' }, ...(password ? [{ name: 'password', value: password }] : [])]),
  );

describe('XML', () => {
  it('the simulator imports an XML export of another simulator, and then exports the same document', async () => {
    const one = await start();
    await one.post(ROLES, { name: '.neu <&> "ä"\n]]>', description: ' spaces ' });
    await one.delete(`${ROLES}/Unused`);
    const exported = await one.post(EXPORT, { password: 'p' });
    expect(exported.text).toMatch(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n<configuration xmlns="urn:/);
    expect(exported.text).not.toContain('simulator<');
    const two = await start();
    const imported = await importXml(two, exported.text, 'p');
    expect([imported.status, messages(imported, 'info').length]).toEqual([200, 1]);
    const plain = (text: string): string => text.replace(/ type="secret">[^<]*/g, '>');
    expect(plain((await two.post(EXPORT, { password: 'p' })).text)).toBe(plain(exported.text));
    expect((await two.login()).status).toBe(200);
    expect((await two.get(`${ROLES}/Unused`)).status).toBe(404);
  });

  it('the XML transfer refuses a wrong password, a damaged document, or an unknown field, and changes nothing', async () => {
    const client = await start();
    const { text } = await client.post(EXPORT, { password: 'p' });
    const before = (await client.get(ROLES)).text;
    const changed = text.replace('<name>Unused</name>', '<name>Changed</name>');
    for (const [xml, password] of [
      [changed, 'wrong'],
      [changed.slice(0, -30), 'p'],
      [changed.replace('<theme>', '<colour>x</colour><theme>'), 'p'],
      [`<!DOCTYPE x>${changed}`, 'p'],
      ['<other/>', ''],
      ['no xml', ''],
    ] as const) {
      expect((await importXml(client, xml, password)).status).toBe(422);
      expect((await client.get(ROLES)).text).toBe(before);
    }
    expect((await importXml(client, changed, 'p')).status).toBe(200);
    expect((await client.get(ROLES)).text).not.toBe(before);
  });

  it('the XML transfer refuses other request forms', async () => {
    const client = await start();
    const file = { name: 'file', value: '<configuration/>', filename: 'c.xml' };
    const whole = form([file]);
    for (const sent of [
      form([{ name: 'file', value: '<configuration/>' }]),
      form([{ ...file, name: 'xml' }]),
      form([file, file]),
      { ...whole, body: whole.body.slice(0, -8) },
      { body: '{}', headers: {} },
    ])
      expect((await client.send('POST', IMPORT, sent)).status).toBe(400);
    expect((await client.send('POST', IMPORT, whole)).status).toBe(200);
    expect((await client.send('POST', EXPORT)).status).toBe(400);
  });

  it('the XML transfer exports one section, in another namespace, with the variants', async () => {
    const client = await start({ variants: { xmlSection: 'users', xmlNamespace: 'urn:x:2' } });
    expect((await client.post(EXPORT, {})).text).toMatch(/<configuration xmlns="urn:x:2">\n<users>(?!.*<system>)/);
  });

  it('a second XML import waits until the first one is finished', async () => {
    const client = await start({ variants: { transferMs: 60 } });
    const from = performance.now();
    const times = await Promise.all(
      [1, 2].map(async () => ((await importXml(client, '<configuration/>')).status, performance.now() - from)),
    );
    expect(Math.max(...times)).toBeGreaterThan(115);
  });
});

describe('binary', () => {
  it('the binary transfer exports a ZIP as base64 lines and restores the state from it', async () => {
    const client = await start();
    const exported = await client.send('POST', BINARY);
    expect(exported.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(exported.text.split('\n')[0]).toHaveLength(76);
    expect(Buffer.from(exported.text, 'base64').toString('latin1', 0, 2)).toBe('PK');
    await client.delete(`${ROLES}/Unused`);
    expect((await client.put(BINARY, exported.text, HTML)).status).toBe(200);
    expect((await client.get(`${ROLES}/Unused`)).status).toBe(200);
  });

  it('the binary transfer keeps network and cluster in the mode normal, and replaces them in the mode full', async () => {
    const source = await start({ cluster: 'active-passive' });
    const port = '/api/v1/configuration/system/network/internal-port';
    await source.put(port, { 'ip-address': '10.1.1.1' });
    await source.put('/api/v1/configuration/system/log/events', { 'max-log-size': 7 });
    const { text } = await source.send('POST', `${BINARY}?export=system_config`, { body: { Password: 'x' } });
    const client = await start();
    await client.put(BINARY, text, HTML);
    expect((await client.get(`${port}/ip-address`)).json).toEqual({ 'ip-address': '10.10.0.10' });
    expect((await client.get('/api/v1/configuration/system/log/events')).json).toMatchObject({ 'max-log-size': 7 });
    expect((await client.get('/api/v1/cluster')).status).toBe(404);
    await client.put(`${BINARY}?import=full`, text, HTML);
    expect((await client.get(`${port}/ip-address`)).json).toEqual({ 'ip-address': '10.1.1.1' });
    expect((await client.get('/api/v1/cluster')).status).toBe(200);
  });

  it('the binary transfer leaves the system configuration out of user_config', async () => {
    const client = await start();
    const size = async (query: string): Promise<number> => (await client.send('POST', BINARY + query)).text.length;
    expect((await size('?export=user_config')) + (await size('?export=system_config'))).toBeGreaterThan(await size(''));
    expect(await size('?export=user_config&password=x')).toBeLessThan(await size(''));
    expect((await client.send('POST', `${BINARY}?export=all`)).status).toBe(400);
    expect((await client.send('POST', BINARY, { body: { password: 'x' } })).status).toBe(422);
  });

  it('the binary transfer refuses GET, and refuses invalid requests with the two documented messages', async () => {
    const client = await start();
    const { text } = await client.send('POST', BINARY);
    expect(messages(await client.put(`${BINARY}?import=some`, text, HTML), 'errors')).toEqual(['Invalid import mode']);
    const damaged = `${text.slice(0, 400)}AAAA${text.slice(404)}`;
    for (const body of ['hello!', text.slice(0, text.length >> 1), Buffer.from('PK nothing').toString('base64'), damaged])
      expect(messages(await client.put(BINARY, body, HTML), 'errors')).toEqual(['Error - Failed to extract configuration files']);
    expect((await client.put(BINARY, text, { 'content-type': 'text/plain' })).status).toBe(400);
    expect((await client.send('PUT', BINARY, { headers: HTML })).status).toBe(400);
    expect((await client.get(BINARY)).status).toBe(400);
    client.simulator.state.variants.binaryExportByGet = true;
    expect((await client.get(BINARY)).text).toMatch(/^UEsDB/);
    client.simulator.state.variants.binaryCutShort = true;
    expect((await client.send('POST', BINARY)).text.length).toBeLessThan(text.length * 0.6);
  });
});
