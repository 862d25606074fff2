import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { areas, operations } from '../../src';

const ROOT = join(__dirname, '../..');
const SCRIPT = join(ROOT, 'hovers.mts');

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.Node20,
  moduleResolution: ts.ModuleResolutionKind.Node16,
  types: ['node'],
  strict: true,
  skipLibCheck: true,
};

/** The editor's view of a script that uses the built package. */
function createEditor(script: string): ts.LanguageService {
  return ts.createLanguageService({
    getCompilationSettings: () => OPTIONS,
    getScriptFileNames: () => [SCRIPT],
    getScriptVersion: () => '1',
    getScriptSnapshot: (file) => {
      const text = file === SCRIPT ? script : ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (file) => file === SCRIPT || ts.sys.fileExists(file),
    readFile: (file) => ts.sys.readFile(file),
    directoryExists: (folder) => ts.sys.directoryExists(folder),
    getDirectories: (folder) => ts.sys.getDirectories(folder),
  });
}

const script = `
import { Gateway, type WatchEvent } from './dist/src/index.js';
import type { InferredInput, OperationInput, OperationName } from './dist/src/areas/index.js';

declare const gateway: Gateway;
declare const event: WatchEvent;
const sessions = await gateway.run('sessions.list', { name: 'j.doe' });
const ended = await gateway.run('sessions.kill-user', { name: 'j.doe',  });
if (event.topic === 'sessions/started') void event.payload;

type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = { [K in keyof T]: T[K] };
type Mismatch = { [N in OperationName]: IsSame<Flat<OperationInput<N>>, Flat<InferredInput<N>>> extends true ? never : N }[OperationName];
export const mismatch: [Mismatch] extends [never] ? true : Mismatch = true;
`;
const editor = createEditor(script);
const hoverAt = (text: string, offset = 0): string =>
  ts.displayPartsToString(editor.getQuickInfoAtPosition(SCRIPT, script.indexOf(text) + offset)?.displayParts);

describe('The types of the package in an editor', () => {
  it('The types of the package in an editor declare the input that the fields of each operation define', () => {
    const faults = [...editor.getSyntacticDiagnostics(SCRIPT), ...editor.getSemanticDiagnostics(SCRIPT)];
    expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual([]);
    expect(operations.size).toBeGreaterThan(70);
  });

  it('An editor shows the input, record and event types of an operation by name', () => {
    expect(hoverAt("run('sessions.list'")).toContain('input?: SessionsListInput | undefined');
    expect(hoverAt("run('sessions.list'")).toContain('Promise<RunOutcome<SessionRecord[]>>');
    expect(hoverAt("run('sessions.kill-user'")).toContain('input: SessionsKillUserInput');
    expect(hoverAt('sessions = await')).toBe('const sessions: RunOutcome<SessionRecord[]>');
    expect(hoverAt('payload;')).toContain('session: SessionRecord');
  });

  it('The types of the package in an editor show no truncated type', () => {
    for (const text of ["run('sessions.list'", "run('sessions.kill-user'", 'sessions = await', 'ended = await', 'payload;'])
      expect(hoverAt(text)).not.toMatch(/\d+ more|\.\.\./);
  });

  it('The completion of an input in an editor shows the label and the help of each field', () => {
    const position = script.indexOf("{ name: 'j.doe',  }") + "{ name: 'j.doe', ".length;
    const names = editor.getCompletionsAtPosition(SCRIPT, position, {})?.entries.map(({ name }) => name);
    expect(names).toContain('max');
    const details = editor.getCompletionEntryDetails(SCRIPT, position, 'max', {}, undefined, {}, undefined);
    const field = areas.find(({ name }) => name === 'sessions')?.operations['kill-user']?.fields.max;
    expect(ts.displayPartsToString(details?.documentation)).toBe(`**${field?.label}.** ${field?.help} Default: \`25\`.`);
  });
});
