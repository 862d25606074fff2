import { join, relative } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = join(__dirname, '../..');
const CONSUMER = join(__dirname, 'types/consumer.ts');
const INDEX = join(ROOT, 'src/index.ts');

const program = ts.createProgram([CONSUMER], {
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts'],
  module: ts.ModuleKind.Node20,
  moduleResolution: ts.ModuleResolutionKind.Node16,
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
});
const checker = program.getTypeChecker();

/** Symbols of the library that a type speaks of, by the names in its declaration. */
function referenced(declaration: ts.Declaration): ts.Symbol[] {
  const found: ts.Symbol[] = [];
  const visit = (node: ts.Node): void => {
    // Private members and function bodies are not part of the declarations.
    if (ts.isBlock(node) || (ts.isClassElement(node) && node.name && ts.isPrivateIdentifier(node.name))) return;
    const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
    const symbol = name && checker.getSymbolAtLocation(name);
    if (symbol) found.push(symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
    ts.forEachChild(node, visit);
  };
  visit(declaration);
  return found;
}

/** Exported symbols of the library. */
const ours = (symbol: ts.Symbol): boolean =>
  symbol.declarations?.some(
    (declaration) =>
      relative(ROOT, declaration.getSourceFile().fileName).startsWith('src') &&
      (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) !== 0,
  ) ?? false;

describe('the types of the library', () => {
  it('the types of the library accept a correct script and reject a wrong one', () => {
    const faults = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
      const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
      return `${relative(ROOT, file?.fileName ?? '')}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
    expect(faults).toEqual([]);
  });

  it('every type that an exported library type refers to is exported too', () => {
    const index = program.getSourceFile(INDEX);
    const module = index && checker.getSymbolAtLocation(index);
    if (!module) throw new Error('There is no index');
    const exported = new Set(
      checker.getExportsOfModule(module).map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)),
    );
    expect(exported.size).toBeGreaterThan(30);
    const missing = [...exported].flatMap((symbol) =>
      (symbol.declarations ?? [])
        .filter((declaration) => !ts.isVariableDeclaration(declaration))
        .flatMap(referenced)
        .filter((other) => ours(other) && !exported.has(other))
        .map((other) => `${other.name} (of ${symbol.name})`),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  it('the types of the library document every setting', () => {
    const file = program.getSourceFile(join(ROOT, 'src/model/settings.ts'));
    const undocumented: string[] = [];
    file?.forEachChild((node) => {
      if (!ts.isInterfaceDeclaration(node) || node.name.text === 'CheckedSettings') return;
      for (const member of node.members) {
        const name = member.name?.getText() ?? '';
        // Names that need no explanation.
        if (!['password'].includes(name) && ts.getJSDocCommentsAndTags(member).length === 0) undocumented.push(`${node.name.text}.${name}`);
      }
    });
    expect(undocumented).toEqual([]);
  });
});
