import { expect, it } from 'vitest';
import { areas } from '../../src/areas';
import { findAxeViolations } from './axe';
import type { Entry, FlowNode } from './editor';
import { idOf, inBothEditors } from './rig';

const elsewhere: Entry[] = [
  { type: 'msg', value: 'request.name' },
  { type: 'flow', value: 'name' },
  { type: 'global', value: 'name' },
  { type: 'env', value: 'NAME' },
  { type: 'jsonata', value: 'payload.name' },
];

/** Node-RED moves a node whose label has become wider, when it draws next. */
const placeless = ({ x: _x, ...node }: FlowNode): Omit<FlowNode, 'x'> => node;

const names = [...areas.map((area) => area.name), 'trial'];

inBothEditors('the dialogs of all operations', (rig) => {
  it('the dialogs cover every area of the operation table', () => {
    expect(rig.areas.map((area) => area.name)).toEqual(names);
  });

  it('the editor draws each node with its input port, its wires, and no error', async () => {
    for (const [area, name] of rig.operations()) {
      const { errors, ports } = await rig.editor.verdict(idOf(area, name));
      expect({ errors, ports }, idOf(area, name)).toEqual({ errors: [], ports: 1 });
    }
    expect((await rig.editor.exported('start')).wires).toEqual([['sessions-list', 'tr1']]);
    expect(
      await rig.editor.page.$$eval(
        '.red-ui-flow-node-group',
        (groups) => groups.filter((group) => group.querySelector('.red-ui-flow-port-input')).length,
      ),
    ).toBe(rig.operations().length + 4);
  });

  // The shortest of each area, in one line of Node-RED.
  it('the dialogs leave an operation of each node unchanged after Done', async () => {
    const mine = rig.areas.filter((_area, at) => at % 2 === (rig.version === 5 ? 1 : 0));
    expect(mine.length).toBeGreaterThan(5);
    for (const area of mine) {
      const [shortest] = rig.operations(area.name).sort(([, , one], [, , other]) => Object.keys(one).length - Object.keys(other).length);
      if (!shortest) throw new Error(`No operation of ${area.name}`);
      const id = idOf(shortest[0], shortest[1]);
      const before = await rig.editor.exported(id);
      await rig.editor.openNode(id);
      await rig.editor.done();
      expect(await rig.editor.exported(id), id).toEqual(before);
      expect(await rig.editor.dirty(), id).toBe(false);
    }
  });

  it('the dialogs give every control an accessible name', async () => {
    // The accessibility tree takes long: each area is read in one line of Node-RED.
    const longest = rig.areas.flatMap((area, at) => {
      const [first] = rig.operations(area.name).sort(([, , a], [, , b]) => Object.keys(b).length - Object.keys(a).length);
      return first && at % 2 === (rig.version === 5 ? 0 : 1) ? [idOf(first[0], first[1])] : [];
    });
    for (const [at, id] of ['ap1', 'tr3', ...longest].entries()) {
      await rig.editor.openNode(id);
      const controls = await rig.editor.controls();
      expect(controls.length, id).toBeGreaterThan(5);
      // Not the characters of the icons either.
      expect(controls.filter((name, at) => controls.indexOf(name) !== at || !/^\w+ \p{L}/u.test(name))).toEqual([]);
      if (id !== 'ap1') expect(controls, id).toContain('textbox Output to');
      // One generator makes all dialogs, and axe takes as long as everything else here.
      if (at % 3 === 0) expect(await findAxeViolations(rig.editor.page, '.gateway-form'), id).toEqual([]);
      await rig.editor.cancel();
    }
    await rig.editor.openNode('sessions-list');
    expect(await rig.editor.controls()).toEqual(expect.arrayContaining(['button Operation: List sessions', 'button Appliance: Edit']));
    // A label leads to what is to be seen.
    await rig.editor.page.getByText('Output to', { exact: true }).click();
    expect(await rig.editor.page.evaluate(() => document.activeElement?.id)).toBe('node-input-output-value');
    await rig.editor.cancel();
  });

  // Each operation is tested here in one line of Node-RED, and in another language by languages.test.ts.
  const isMine = (at: number): boolean => at % 2 === (rig.version === 5 ? 0 : 1);

  it.each(names)('the dialogs of gateway-%s show exactly the fields of each operation without overflow', async (areaName) => {
    const mine = rig.operations().filter(([area], at) => area.name === areaName && isMine(at));
    const [first] = mine;
    if (!first) return;
    await rig.editor.openNode(idOf(first[0], first[1]));
    for (const [area, name, fields] of mine) {
      const id = idOf(area, name);
      if (name !== first[1]) await rig.editor.chooseOperation(name);
      // Required fields come first, if an operation has more than five.
      expect((await rig.editor.shownFields()).sort(), id).toEqual(Object.keys(fields).sort());
      expect(await rig.editor.overflowing(), id).toEqual([]);
    }
    await rig.editor.cancel();
  });

  /** Kinds of field that were stored. */
  const stored = new Set<string>();

  it.each(names)('the dialogs of gateway-%s store every kind of field and read it again', async (areaName) => {
    for (const [at, [area, name, fields]] of rig.operations().entries()) {
      if (area.name !== areaName || !isMine(at)) continue;
      const id = idOf(area, name);
      const entries = Object.fromEntries(Object.keys(fields).map((field, index) => [field, elsewhere[index % elsewhere.length] as Entry]));
      const kinds = Object.values(fields).map(({ kind, editor, secret }) => [kind, editor, secret].join());
      if (kinds.every((kind) => stored.has(kind))) continue;
      for (const kind of kinds) stored.add(kind);
      await rig.editor.openNode(id);
      await rig.editor.setFields(entries);
      await rig.editor.done();
      const node = await rig.editor.exported(id);
      expect(node.fields, id).toEqual(entries);
      await rig.editor.openNode(id);
      expect(await rig.editor.fields(Object.keys(entries)), id).toEqual(entries);
      await rig.editor.done();
      expect(placeless(await rig.editor.exported(id)), id).toEqual(placeless(node));
    }
  });

  it('the dialogs store nothing for a field that is reset to its default', async () => {
    await rig.editor.openNode('sessions-kill-user');
    await rig.editor.setField('max', { type: 'default', value: '' });
    await rig.editor.done();
    expect(Object.keys((await rig.editor.exported('sessions-kill-user')).fields ?? {})).toEqual(['name', 'match']);
  });
});
