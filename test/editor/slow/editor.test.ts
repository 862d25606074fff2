import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { mayWrite } from '../../../scripts/editor/table.mjs';
import { root } from '../../../scripts/tools.mjs';
import { CLOSE_LOG_TEXTS } from '../../../nodes/action/log-on-close';
import { INVENTORY_STATUS_TEXTS } from '../../../nodes/inventory/inventory-node';
import { ENGLISH_STATUS_TEXTS } from '../../../nodes/status/status-text';
import { WATCH_STATUS_TEXTS } from '../../../nodes/watch/watch-status';
import { areas } from '../../../src/areas';
import { MANY_SUMMARY_TEMPLATES as FLEET_WORDS } from '../../../src/inventory/many-report';
import { SUMMARY_TEXTS } from '../../../src/model/summary-texts';
import type { Area, Field } from '../../../src/model/operation';

const nodes = join(process.env.GATEWAY_PACKAGE ?? root, 'dist', 'nodes');
const html = readFileSync(join(nodes, 'gateway.html'), 'utf8');
const help = readFileSync(join(nodes, 'help', 'en-US.html'), 'utf8');
const stubs = readFileSync(join(nodes, 'locales', 'en-US', 'gateway.html'), 'utf8');
const catalogue = flat(JSON.parse(readFileSync(join(nodes, 'locales', 'en-US', 'gateway.json'), 'utf8')) as Tree);
const scripts = [...html.matchAll(/<script type="text\/javascript">\n([^]*?)<\/script>/g)].map(([, script = '']) => script);
const templates = new Map(
  [...html.matchAll(/<script type="text\/html" data-template-name="([^"]*)">\n([^]*?)<\/script>/g)].map(([, type = '', body = '']) => [
    type,
    body,
  ]),
);
const form = /<script type="text\/html" id="gateway-action-form">\n([^]*?)<\/script>/.exec(html)?.[1] ?? '';
const late = readFileSync(join(nodes, 'panels.js'), 'utf8');
/** What the script in the browser is started with. */
const table = JSON.parse(/gatewayEditor\.start\((.*)\);/.exec(html)?.[1] ?? '{}') as Record<
  string,
  { operations: Record<string, { fields: Record<string, { secret?: true }> }> }
>;
const definitions = new Map(scripts.flatMap(registrations));

type Tree = { [key: string]: string | Tree };

function flat(tree: Tree, prefix = ''): Map<string, string> {
  const entries = Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'string' ? [[`${prefix}${key}`, value] as const] : [...flat(value, `${prefix}${key}.`)],
  );
  return new Map(entries);
}

/** `RED.nodes.registerType('literal', { literal })` in a script, as the scorecard's tool looks for it: without running anything. */
function registrations(script: string): [string, ts.ObjectLiteralExpression][] {
  const source = ts.createSourceFile('gateway.js', script, ts.ScriptTarget.ES2020, true, ts.ScriptKind.JS);
  return source.statements.flatMap((statement): [string, ts.ObjectLiteralExpression][] => {
    if (!ts.isExpressionStatement(statement) || !ts.isCallExpression(statement.expression)) return [];
    const [type, definition] = statement.expression.arguments;
    const named = statement.expression.expression.getText() === 'RED.nodes.registerType';
    return named && type && ts.isStringLiteral(type) && definition && ts.isObjectLiteralExpression(definition)
      ? [[type.text, definition]]
      : [];
  });
}

function property(object: ts.ObjectLiteralExpression | undefined, name: string): ts.Expression | undefined {
  const found = object?.properties.find(
    (member) => member.name && (ts.isIdentifier(member.name) || ts.isStringLiteral(member.name)) && member.name.text === name,
  );
  return found && ts.isPropertyAssignment(found) ? found.initializer : undefined;
}

function keysOf(object: ts.Expression | undefined): string[] {
  if (!object || !ts.isObjectLiteralExpression(object)) return [];
  return object.properties.flatMap((member) =>
    member.name && (ts.isIdentifier(member.name) || ts.isStringLiteral(member.name)) ? [member.name.text] : [],
  );
}

const fieldsOf = (area: Area): [string, Field][] => Object.values(area.operations).flatMap(({ fields }) => Object.entries(fields));
const each = areas.map((area) => [area.name, area] as const);

describe('gateway.html', () => {
  it('registers every type in plain sight, and loads nothing', () => {
    expect([...definitions.keys()].sort()).toEqual(
      ['gateway-appliance', 'gateway-inventory', 'gateway-watch', ...areas.map(({ name }) => `gateway-${name}`)].sort(),
    );
    expect([...templates.keys()].sort()).toEqual([...definitions.keys()].sort());
    // One form for them all: the limit of the page is for more than copies.
    for (const { name } of areas) expect(templates.get(`gateway-${name}`)).toBe('');
    expect(form).toContain('id="node-input-operation"');
    expect(html).not.toMatch(/<script[^>]*\ssrc|<link\b|@import|url\(/);
  });

  it('has no syntax that a browser of today lacks', () => {
    for (const script of scripts) {
      const { diagnostics = [] } = ts.transpileModule(script, {
        reportDiagnostics: true,
        compilerOptions: { allowJs: true, target: ts.ScriptTarget.ES2020 },
      });
      expect(diagnostics.map(({ messageText }) => messageText)).toEqual([]);
    }
  });

  it('is small, and what is needed later comes later', () => {
    // Node-RED sends the help of the language with it.
    expect(Buffer.byteLength(html + stubs)).toBeLessThanOrEqual(190_000);
    expect(gzipSync(html + stubs).length).toBeLessThanOrEqual(45_000);
    for (const part of ['gateway-list-note', 'gateway-browser', 'gateway-condition']) {
      expect(late).toContain(part);
      expect(scripts.join('')).not.toContain(`"${part}`);
    }
  });

  it.each(each)('tells the dialog of %s of every field and keeps its secrets as credentials', (name, area) => {
    const told = Object.entries(table[name]?.operations ?? {}).map(([operation, { fields }]) => [operation, Object.keys(fields)]);
    expect(told).toEqual(Object.entries(area.operations).map(([operation, { fields }]) => [operation, Object.keys(fields)]));
    const secrets = [...new Set(fieldsOf(area).flatMap(([field, { secret }]) => (secret ? [field] : [])))];
    const definition = definitions.get(`gateway-${name}`);
    expect(keysOf(property(definition, 'credentials')).sort()).toEqual(secrets.sort());
    const flagged = Object.values(table[name]?.operations ?? {}).flatMap(({ fields }) => Object.entries(fields));
    expect([...new Set(flagged.filter(([, { secret }]) => secret).map(([field]) => field))].sort()).toEqual(secrets.sort());
  });

  it('never counts an appliance as unused: messages may name it', () => {
    expect(property(definitions.get('gateway-appliance'), 'hasUsers')?.kind).toBe(ts.SyntaxKind.FalseKeyword);
  });

  it.each(each)('declares the properties of the flow file for %s', (name, area) => {
    const definition = definitions.get(`gateway-${name}`);
    const properties = [
      'name',
      'appliance',
      'applianceFrom',
      ...['inventory', 'select', 'selectType', 'atOnce', 'canary', 'batch', 'maxFailures', 'maxAppliances', 'each', 'data'],
      'operation',
      'operationType',
      'fields',
      'output',
      'failures',
      'dryRun',
      'allowDestroy',
      ...(mayWrite(area) ? ['approval', 'approvalMinutes'] : []),
      ...(area.events ? ['every'] : []),
      'outputs',
    ];
    const defaults = property(definition, 'defaults');
    expect(keysOf(defaults)).toEqual(properties);
    const first = defaults && ts.isObjectLiteralExpression(defaults) ? property(defaults, 'operation') : undefined;
    const value = first && ts.isObjectLiteralExpression(first) ? property(first, 'value') : undefined;
    const operation = value && ts.isStringLiteral(value) ? value.text : '';
    expect(area.operations).toHaveProperty([operation]);
    // A node that was only dropped into a flow must not be one message away from destroying something.
    const harmless = Object.values(area.operations).some(({ effect }) => effect !== 'destroy');
    if (harmless) expect(area.operations[operation]?.effect).not.toBe('destroy');
  });

  it('takes its colours from Node-RED, so that the dark theme works', () => {
    const style = /<style>([^]*?)<\/style>/.exec(html)?.[1] ?? '';
    expect(style).not.toMatch(/#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(/i);
    expect([form, ...templates.values()].join('')).not.toMatch(/color\s*:/);
  });

  it('has an icon for every area', () => {
    const icons = readdirSync(join(nodes, 'icons'));
    for (const icon of [...areas.map(({ icon }) => icon), 'gateway-watch.svg']) expect(icons).toContain(icon);
    for (const icon of icons) expect(readFileSync(join(nodes, 'icons', icon), 'utf8')).toMatch(/viewBox="0 0 40 60"/);
  });
});

describe('the catalogue', () => {
  const inTemplates = [...html.matchAll(/data-i18n="(?:\[\w+\])?([^"$]*)"/g)].map(([, key = '']) => key);
  const sources = readdirSync(join(root, 'nodes', 'editor')).filter((file) => file.endsWith('.ts'));
  const code = sources.map((file) => readFileSync(join(root, 'nodes', 'editor', file), 'utf8')).join('\n');
  const literal = [...`${code}\n${scripts.slice(1).join('\n')}`.matchAll(/'([a-z][\w-]*(?:\.[\w-]+)+)'/g)].map(([, key = '']) => key);
  /** `counted(node, 'inventory.there', n)`: one thing has words of its own. */
  const ofOne = [...code.matchAll(/\bcounted\(node, (.*)/g)].flatMap(([, rest = '']) =>
    [...rest.matchAll(/'([a-z][\w-]*(?:\.[\w-]+)+)'/g)].map(([, key = '']) => `${key}-one`),
  );
  /** `test.code.${code}` in the code: whatever is below is used. */
  const composed = [
    ...code.matchAll(
      /`((?:action|appliance|check|current|filter|inventory|list|preview|search|source|test|title|tool|tree|trust|watch)\.[\w.-]*)\$\{/g,
    ),
  ].map(([, prefix = '']) => prefix);
  const ofTable = new Set(areas.flatMap(({ name }) => [`${name}.label`, `${name}.palette`]));
  const isOfTable = (key: string): boolean =>
    ofTable.has(key) || areas.some(({ name }) => key.startsWith(`${name}.operation.`) || key.startsWith(`${name}.field.`));

  it('has every text that a template or a script asks for', () => {
    const asked = [
      ...inTemplates,
      ...ofOne,
      ...literal.filter((key) => /^(action|appliance|check|common|current|filter|list|source|test|tool|tree|trust|watch)\./.test(key)),
    ];
    expect(asked.filter((key) => !catalogue.has(key))).toEqual([]);
    for (const prefix of composed)
      expect(
        [...catalogue.keys()].some((key) => key.startsWith(prefix)),
        prefix,
      ).toBe(true);
  });

  it('has no text that nobody asks for', () => {
    const statuses = [
      ...Object.keys(ENGLISH_STATUS_TEXTS).map((key) => `status.${key}`),
      ...Object.keys(CLOSE_LOG_TEXTS).map((key) => `closed.${key}`),
      ...Object.keys(WATCH_STATUS_TEXTS).map((key) => `watch.status.${key}`),
      ...Object.keys(INVENTORY_STATUS_TEXTS).map((key) => `inventory.status.${key}`),
      ...Object.keys(FLEET_WORDS).map((key) => `fleet.${key}`),
    ];
    const summaries = Object.keys(SUMMARY_TEXTS).map((key) => `summary.${key}`);
    const titles = areas.flatMap(({ name, operations }) => Object.keys(operations).map((of) => `${name}.${of}`));
    const ofTitles = ['title.of', 'title.at'].flatMap((place) => titles.map((title) => `${place}.${title}`));
    const asked = new Set([...inTemplates, ...literal, ...ofOne, ...statuses, ...summaries, ...ofTitles, 'palette.label.gateway']);
    const unused = [...catalogue.keys()].filter(
      (key) => !asked.has(key) && !isOfTable(key) && !composed.some((prefix) => key.startsWith(prefix)),
    );
    expect(unused).toEqual([]);
  });

  it.each(each)('has the texts of every operation and field of %s', (name, area) => {
    for (const [operation, { label, help: text, fields }] of Object.entries(area.operations)) {
      expect(catalogue.get(`${name}.operation.${operation}.label`)).toBe(label);
      expect(catalogue.get(`${name}.operation.${operation}.help`)).toBe(text);
      for (const [field, { label: fieldLabel }] of Object.entries(fields)) {
        const key = catalogue.get(`${name}.operation.${operation}.field.${field}.label`) ?? catalogue.get(`${name}.field.${field}.label`);
        expect(key).toBe(fieldLabel);
      }
    }
  });

  it('has the words of every status, and of the log', () => {
    for (const [key, text] of Object.entries(CLOSE_LOG_TEXTS)) expect(catalogue.get(`closed.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(WATCH_STATUS_TEXTS)) expect(catalogue.get(`watch.status.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(ENGLISH_STATUS_TEXTS)) expect(catalogue.get(`status.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(INVENTORY_STATUS_TEXTS)) expect(catalogue.get(`inventory.status.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(FLEET_WORDS)) expect(catalogue.get(`fleet.${key}`), key).toBe(text);
  });

  it('has no empty text and no mark-up', () => {
    for (const [key, text] of catalogue) expect(text, key).toMatch(/^[^<>]+$/);
  });
});

describe('the build', () => {
  it('is type-checked', () => {
    const files = ['scripts', 'scripts/editor', 'scripts/demo'].flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((file) => file.endsWith('.mjs'))
        .map((file) => join(root, folder, file)),
    );
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) expect(readFileSync(file, 'utf8'), file).toMatch(/^(#!.*\n)?\/\/ @ts-check\n/);
  });

  it('takes the rules of the runtime into the browser, and nothing that needs Node.js', () => {
    const [script = ''] = scripts;
    for (const rule of ['urlFault', 'isOutOf', 'neededCredentials', 'variableOf', 'mayBeWhole', 'RESERVED', 'readFilter', 'keeps'])
      expect(script).toContain(rule);
    for (const text of [script, late]) expect(text).not.toMatch(/\brequire\(|\bBuffer\.|\bprocess\./);
  });
});

describe('the help', () => {
  it.each(['gateway-appliance', 'gateway-inventory', 'gateway-watch', ...areas.map(({ name }) => `gateway-${name}`)])(
    'of %s has an introduction and the official headings in order',
    (type) => {
      const text = new RegExp(`data-help-name="${type}">\\n([^]*?)</script>`).exec(help)?.[1] ?? '';
      expect(text).toMatch(/^\w[^\n]*\n/);
      const headings = [...text.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
      expect(headings).toEqual(
        ['gateway-appliance', 'gateway-inventory'].includes(type) ? ['Details'] : ['Inputs', 'Outputs', 'Details', 'References'],
      );
    },
  );

  it('has lists of properties that both editors can read', () => {
    const lists = help.split('\n').filter((line) => line.startsWith(': '));
    expect(lists.filter((line) => !/^: [^:]+ \([^:]+\) : [^:]+$/.test(line))).toEqual([]);
  });

  it.each(each)('tells of every operation of %s what it does and of every field where it comes from', (name, area) => {
    const text = new RegExp(`data-help-name="gateway-${name}">\\n([^]*?)</script>`).exec(help)?.[1] ?? '';
    for (const [operation, { help: words, fields }] of Object.entries(area.operations)) {
      expect(text).toContain(`\`${operation}\``);
      expect(text).toContain(words);
      for (const [field, { label }] of Object.entries(fields)) {
        expect(text).toMatch(new RegExp(`\\n: ${field} \\([^)]*\\) : “${label.replace(/[^\w ]/g, '.')}”\\. `));
      }
      const own = text.slice(text.indexOf(`\`${operation}\` (`)).split('\n#### ')[0] ?? '';
      const samples = [...own.matchAll(/```json\n([^]*?)\n```/g)].map(
        ([, json = '']) => JSON.parse(json) as { payload: unknown; envelope?: { ok: boolean } },
      );
      expect(samples).toMatchObject([{ payload: {} }, { envelope: { ok: true } }]);
    }
  });
});

describe('what every page has of the help', () => {
  it('is the beginning of each, and says that there is more', () => {
    const types = [...help.matchAll(/data-help-name="([^"]+)"/g)].map(([, type]) => type);
    expect([...stubs.matchAll(/data-help-name="([^"]+)"/g)].map(([, type]) => type)).toEqual(types);
    for (const type of types) {
      const [first = '', more] = (new RegExp(`"text/html" data-help-name="${type}">\\n([^]*?)</script>`).exec(stubs)?.[1] ?? '')
        .trim()
        .split('\n');
      const words = first.replace(/^<p>|<\/p>$/g, '').replace(/<\/?code>/g, '`');
      expect(help).toContain(`data-help-name="${type}">\n${words}\n`);
      expect(first.length).toBeGreaterThan(20);
      expect(more).toBe(`<span class="gateway-more" data-type="${type}"></span>`);
    }
  });

  it('tells what a path may be and what a filter may name, where there is one', () => {
    const of = (type: string): string => new RegExp(`data-help-name="gateway-${type}">\\n([^]*?)</script>`).exec(help)?.[1] ?? '';
    for (const type of ['config', 'snapshot', 'request']) expect(of(type), type).toContain('`{{payload.name}}` stands for one name');
    expect(of('config')).toContain('below `/api/v1/configuration`');
    expect(of('sessions')).toContain('```text\nactive-user-name\n');
    expect(of('users')).not.toContain('{{payload.name}}');
  });
});
