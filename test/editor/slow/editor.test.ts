import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { mayWrite } from '../../../scripts/editor/table.mjs';
import { root } from '../../../scripts/tools.mjs';
import { RUNTIME_TEXTS } from '../../../nodes/common/runtime-texts';
import { areas } from '../../../src/areas';
import { MANY_SUMMARY_TEMPLATES } from '../../../src/inventory/many-report';
import { SUMMARY_TEXTS } from '../../../src/model/summary-texts';
import type { Area, Field } from '../../../src/model/operation';

const nodes = join(process.env.GATEWAY_PACKAGE ?? root, 'dist', 'nodes');
const html = readFileSync(join(nodes, 'gateway.html'), 'utf8');
const help = readFileSync(join(nodes, 'help', 'en-US.html'), 'utf8');
const stubs = readFileSync(join(nodes, 'locales', 'en-US', 'gateway.html'), 'utf8');
const catalog = flattenCatalog(JSON.parse(readFileSync(join(nodes, 'locales', 'en-US', 'gateway.json'), 'utf8')) as Tree);
const scripts = [...html.matchAll(/<script type="text\/javascript">\n([^]*?)<\/script>/g)].map(([, script = '']) => script);
const templates = new Map(
  [...html.matchAll(/<script type="text\/html" data-template-name="([^"]*)">\n([^]*?)<\/script>/g)].map(([, type = '', body = '']) => [
    type,
    body,
  ]),
);
const form = /<script type="text\/html" id="gateway-action-form">\n([^]*?)<\/script>/.exec(html)?.[1] ?? '';
const panels = readFileSync(join(nodes, 'panels.js'), 'utf8');
/** The operation table that the page passes to its script. */
const table = JSON.parse(/gatewayEditor\.startEditor\((.*)\);/.exec(html)?.[1] ?? '{}') as Record<
  string,
  { operations: Record<string, { fields: Record<string, { secret?: true }> }> }
>;
const definitions = new Map(scripts.flatMap(findRegistrations));

type Tree = { [key: string]: string | Tree };

function flattenCatalog(tree: Tree, prefix = ''): Map<string, string> {
  const entries = Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'string' ? [[`${prefix}${key}`, value] as const] : [...flattenCatalog(value, `${prefix}${key}.`)],
  );
  return new Map(entries);
}

/** Finds `RED.nodes.registerType('literal', { literal })` in a script without running it, as the scorecard's tool does. */
function findRegistrations(script: string): [string, ts.ObjectLiteralExpression][] {
  const source = ts.createSourceFile('gateway.js', script, ts.ScriptTarget.ES2020, true, ts.ScriptKind.JS);
  return source.statements.flatMap((statement): [string, ts.ObjectLiteralExpression][] => {
    if (!ts.isExpressionStatement(statement) || !ts.isCallExpression(statement.expression)) return [];
    const [type, definition] = statement.expression.arguments;
    const isRegistration = statement.expression.expression.getText() === 'RED.nodes.registerType';
    return isRegistration && type && ts.isStringLiteral(type) && definition && ts.isObjectLiteralExpression(definition)
      ? [[type.text, definition]]
      : [];
  });
}

function findProperty(object: ts.ObjectLiteralExpression | undefined, name: string): ts.Expression | undefined {
  const found = object?.properties.find(
    (member) => member.name && (ts.isIdentifier(member.name) || ts.isStringLiteral(member.name)) && member.name.text === name,
  );
  return found && ts.isPropertyAssignment(found) ? found.initializer : undefined;
}

function listKeys(object: ts.Expression | undefined): string[] {
  if (!object || !ts.isObjectLiteralExpression(object)) return [];
  return object.properties.flatMap((member) =>
    member.name && (ts.isIdentifier(member.name) || ts.isStringLiteral(member.name)) ? [member.name.text] : [],
  );
}

const listFields = (area: Area): [string, Field][] => Object.values(area.operations).flatMap(({ fields }) => Object.entries(fields));
const namedAreas = areas.map((area) => [area.name, area] as const);

describe('gateway.html', () => {
  it('gateway.html registers every node type by a literal name and loads no external file', () => {
    expect([...definitions.keys()].sort()).toEqual(
      ['gateway-appliance', 'gateway-inventory', 'gateway-watch', ...areas.map(({ name }) => `gateway-${name}`)].sort(),
    );
    expect([...templates.keys()].sort()).toEqual([...definitions.keys()].sort());
    // All action nodes share one form, so that the page stays small.
    for (const { name } of areas) expect(templates.get(`gateway-${name}`)).toBe('');
    expect(form).toContain('id="node-input-operation"');
    expect(html).not.toMatch(/<script[^>]*\ssrc|<link\b|@import|url\(/);
  });

  it('gateway.html uses only ES2020 syntax', () => {
    for (const script of scripts) {
      const { diagnostics = [] } = ts.transpileModule(script, {
        reportDiagnostics: true,
        compilerOptions: { allowJs: true, target: ts.ScriptTarget.ES2020 },
      });
      expect(diagnostics.map(({ messageText }) => messageText)).toEqual([]);
    }
  });

  it('gateway.html stays below 190 kB, because the code of the panels is in panels.js', () => {
    // Node-RED sends the help stubs with the page.
    expect(Buffer.byteLength(html + stubs)).toBeLessThanOrEqual(190_000);
    expect(gzipSync(html + stubs).length).toBeLessThanOrEqual(45_000);
    for (const part of ['gateway-list-note', 'gateway-browser', 'gateway-condition']) {
      expect(panels).toContain(part);
      expect(scripts.join('')).not.toContain(`"${part}`);
    }
  });

  it.each(namedAreas)(
    'gateway.html passes every field of gateway-%s to the dialog, and declares secret fields as credentials',
    (name, area) => {
      const operationFields = Object.entries(table[name]?.operations ?? {}).map(([operation, { fields }]) => [
        operation,
        Object.keys(fields),
      ]);
      expect(operationFields).toEqual(Object.entries(area.operations).map(([operation, { fields }]) => [operation, Object.keys(fields)]));
      const secrets = [...new Set(listFields(area).flatMap(([field, { secret }]) => (secret ? [field] : [])))];
      const definition = definitions.get(`gateway-${name}`);
      expect(listKeys(findProperty(definition, 'credentials')).sort()).toEqual(secrets.sort());
      const flagged = Object.values(table[name]?.operations ?? {}).flatMap(({ fields }) => Object.entries(fields));
      expect([...new Set(flagged.filter(([, { secret }]) => secret).map(([field]) => field))].sort()).toEqual(secrets.sort());
    },
  );

  it('gateway.html never reports an appliance as unused, because messages can name it', () => {
    expect(findProperty(definitions.get('gateway-appliance'), 'hasUsers')?.kind).toBe(ts.SyntaxKind.FalseKeyword);
  });

  it.each(namedAreas)('gateway.html declares the node properties that the contract lists for gateway-%s', (name, area) => {
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
    const defaults = findProperty(definition, 'defaults');
    expect(listKeys(defaults)).toEqual(properties);
    const first = defaults && ts.isObjectLiteralExpression(defaults) ? findProperty(defaults, 'operation') : undefined;
    const value = first && ts.isObjectLiteralExpression(first) ? findProperty(first, 'value') : undefined;
    const operation = value && ts.isStringLiteral(value) ? value.text : '';
    expect(area.operations).toHaveProperty([operation]);
    // A new node must not destroy anything on its first message.
    const hasHarmless = Object.values(area.operations).some(({ effect }) => effect !== 'destroy');
    if (hasHarmless) expect(area.operations[operation]?.effect).not.toBe('destroy');
  });

  it('gateway.html uses only colors of Node-RED, so that the dark theme works', () => {
    const style = /<style>([^]*?)<\/style>/.exec(html)?.[1] ?? '';
    expect(style).not.toMatch(/#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(/i);
    expect([form, ...templates.values()].join('')).not.toMatch(/color\s*:/);
  });

  it('gateway.html has an icon for every node type', () => {
    const icons = readdirSync(join(nodes, 'icons'));
    for (const icon of [...areas.map(({ icon }) => icon), 'gateway-watch.svg']) expect(icons).toContain(icon);
    for (const icon of icons) expect(readFileSync(join(nodes, 'icons', icon), 'utf8')).toMatch(/viewBox="0 0 40 60"/);
  });
});

describe('the English catalog', () => {
  const sources = readdirSync(join(root, 'nodes', 'editor'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const code = sources.map((file) => readFileSync(join(root, 'nodes', 'editor', file), 'utf8')).join('\n');
  const inTemplates = [...(html + code).matchAll(/data-i18n="(?:\[\w+\])?([^"$]*)"/g)].map(([, key = '']) => key);
  const literal = [...`${code}\n${scripts.slice(1).join('\n')}`.matchAll(/'([a-z][\w-]*(?:\.[\w-]+)+)'/g)].map(([, key = '']) => key);
  /** `formatPlural(node, 'inventory.there', n)` also uses the text `inventory.there-one`. */
  const singular = [...code.matchAll(/\bformatPlural\(\s*node,\s*(.*)/g)].flatMap(([, rest = '']) =>
    [...rest.matchAll(/'([a-z][\w-]*(?:\.[\w-]+)+)'/g)].map(([, key = '']) => `${key}-one`),
  );
  /** A template such as `test.code.${code}` uses every text below its prefix. */
  const composed = [
    ...code.matchAll(
      /`((?:action|appliance|check|current|filter|folder|inventory|list|preview|recipe|search|source|test|title|tool|tree|trust|try|watch)\.[\w.-]*)\$\{/g,
    ),
  ].map(([, prefix = '']) => prefix);
  const tableKeys = new Set(areas.flatMap(({ name }) => [`${name}.label`, `${name}.palette`]));
  const isTableKey = (key: string): boolean =>
    tableKeys.has(key) || areas.some(({ name }) => key.startsWith(`${name}.operation.`) || key.startsWith(`${name}.field.`));

  it('the English catalog has every text that a template or a script uses', () => {
    const usedKeys = [
      ...inTemplates,
      ...singular,
      ...literal.filter((key) =>
        /^(action|appliance|check|common|current|filter|folder|list|offer|recipe|sidebar|source|test|tool|tree|trust|try|watch)\./.test(
          key,
        ),
      ),
    ];
    expect(usedKeys.filter((key) => !catalog.has(key))).toEqual([]);
    for (const prefix of composed)
      expect(
        [...catalog.keys()].some((key) => key.startsWith(prefix)),
        prefix,
      ).toBe(true);
  });

  it('the English catalog has no unused text', () => {
    const statuses = [
      ...Object.keys(RUNTIME_TEXTS.status).map((key) => `status.${key}`),
      ...Object.keys(RUNTIME_TEXTS.closed).map((key) => `closed.${key}`),
      ...Object.keys(RUNTIME_TEXTS.watch.status).map((key) => `watch.status.${key}`),
      ...Object.keys(RUNTIME_TEXTS.inventory.status).map((key) => `inventory.status.${key}`),
      ...Object.keys(MANY_SUMMARY_TEMPLATES).map((key) => `fleet.${key}`),
    ];
    const summaries = Object.keys(SUMMARY_TEXTS).map((key) => `summary.${key}`);
    const titles = areas.flatMap(({ name, operations }) => Object.keys(operations).map((of) => `${name}.${of}`));
    const ofTitles = ['title.of', 'title.at'].flatMap((place) => titles.map((title) => `${place}.${title}`));
    const usedKeys = new Set([...inTemplates, ...literal, ...singular, ...statuses, ...summaries, ...ofTitles, 'palette.label.gateway']);
    const unused = [...catalog.keys()].filter(
      (key) => !usedKeys.has(key) && !isTableKey(key) && !composed.some((prefix) => key.startsWith(prefix)),
    );
    expect(unused).toEqual([]);
  });

  it.each(namedAreas)('the English catalog has the label and help of every operation and field of gateway-%s', (name, area) => {
    for (const [operation, { label, help: text, fields }] of Object.entries(area.operations)) {
      expect(catalog.get(`${name}.operation.${operation}.label`)).toBe(label);
      expect(catalog.get(`${name}.operation.${operation}.help`)).toBe(text);
      for (const [field, { label: fieldLabel }] of Object.entries(fields)) {
        const key = catalog.get(`${name}.operation.${operation}.field.${field}.label`) ?? catalog.get(`${name}.field.${field}.label`);
        expect(key).toBe(fieldLabel);
      }
    }
  });

  it('the English catalog has the same English text as the code for every status text and log line', () => {
    for (const [key, text] of Object.entries(RUNTIME_TEXTS.closed)) expect(catalog.get(`closed.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(RUNTIME_TEXTS.watch.status)) expect(catalog.get(`watch.status.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(RUNTIME_TEXTS.status)) expect(catalog.get(`status.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(RUNTIME_TEXTS.inventory.status))
      expect(catalog.get(`inventory.status.${key}`), key).toBe(text);
    for (const [key, text] of Object.entries(MANY_SUMMARY_TEMPLATES)) expect(catalog.get(`fleet.${key}`), key).toBe(text);
  });

  it('the English catalog has no empty text and no HTML', () => {
    for (const [key, text] of catalog) expect(text, key).toMatch(/^[^<>]+$/);
  });
});

describe('the editor build', () => {
  it('the editor build type-checks every build script', () => {
    const files = ['scripts', 'scripts/editor', 'scripts/demo'].flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((file) => file.endsWith('.mjs'))
        .map((file) => join(root, folder, file)),
    );
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) expect(readFileSync(file, 'utf8'), file).toMatch(/^(#!.*\n)?\/\/ @ts-check\n/);
  });

  it('the editor build bundles the validation rules of the runtime, but no code that needs Node.js', () => {
    const [script = ''] = scripts;
    for (const rule of [
      'findUrlFault',
      'isNumberOutOfRange',
      'listRequiredCredentials',
      'parseVariableReference',
      'canFieldTakeWholePayload',
      'RESERVED_MESSAGE_PROPERTIES',
      'parseSessionFilter',
    ])
      expect(script).toContain(rule);
    for (const text of [script, panels]) expect(text).not.toMatch(/\brequire\(|\bBuffer\.|\bprocess\./);
  });
});

describe('the sidebar help', () => {
  it.each(['gateway-appliance', 'gateway-inventory', 'gateway-watch', ...areas.map(({ name }) => `gateway-${name}`)])(
    'the sidebar help of %s has an introduction and the headings of the style guide in order',
    (type) => {
      const text = new RegExp(`data-help-name="${type}">\\n([^]*?)</script>`).exec(help)?.[1] ?? '';
      expect(text).toMatch(/^\w[^\n]*\n/);
      const headings = [...text.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
      expect(headings).toEqual(
        ['gateway-appliance', 'gateway-inventory'].includes(type) ? ['Details'] : ['Inputs', 'Outputs', 'Details', 'References'],
      );
    },
  );

  it('the sidebar help has property lists that both Node-RED editors can parse', () => {
    const lists = help.split('\n').filter((line) => line.startsWith(': '));
    expect(lists.filter((line) => !/^: [^:]+ \([^:]+\) : [^:]+$/.test(line))).toEqual([]);
  });

  it.each(namedAreas)('the sidebar help describes every operation and every field of gateway-%s', (name, area) => {
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

describe('the help stubs in the page', () => {
  it('the help in the editor page has only the first paragraph of each help text and a marker for the rest', () => {
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

  it('the help page of a node explains paths and filter fields only if the node has them', () => {
    const of = (type: string): string => new RegExp(`data-help-name="gateway-${type}">\\n([^]*?)</script>`).exec(help)?.[1] ?? '';
    for (const type of ['config', 'snapshot', 'request']) expect(of(type), type).toContain('`{{payload.name}}` stands for one name');
    expect(of('config')).toContain('below `/api/v1/configuration`');
    expect(of('sessions')).toContain('```text\nactive-user-name\n');
    expect(of('users')).not.toContain('{{payload.name}}');
  });
});
