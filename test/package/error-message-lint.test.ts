import { join, relative } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';

const ROOT = join(__dirname, '../..');

/** Where a text that is made when it runs is taken for a sentence of ours, in which nothing is masked. */
function unmarked(): string[] {
  const { fileNames, options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(ROOT, 'tsconfig.build.json'), (file) => ts.sys.readFile(file)).config,
    ts.sys,
    ROOT,
  );
  const program = ts.createProgram(fileNames, { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const found: string[] = [];
  const isFixed = (type: ts.Type): boolean =>
    type.isUnion() ? type.types.every(isFixed) : (type.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) === 0;
  const visit = (node: ts.Node, file: ts.SourceFile): void => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      checker.getResolvedSignature(node)?.parameters.forEach((parameter, index) => {
        const given = node.arguments?.[index];
        if (!given) return;
        const takes = checker.typeToString(checker.getTypeOfSymbolAtLocation(parameter, node));
        const type = checker.getTypeAtLocation(given);
        // What is passed on was looked at where it came from.
        if (!/\bSentence\b/.test(takes) || isFixed(type) || checker.typeToString(type) === takes) return;
        const { line } = file.getLineAndCharacterOfPosition(given.getStart());
        found.push(`${relative(ROOT, file.fileName)}:${line + 1}: ${given.getText().slice(0, 80)}`);
      });
    }
    ts.forEachChild(node, (child) => visit(child, file));
  };
  const own = program
    .getSourceFiles()
    .filter(({ fileName }) => /\/(src|nodes)\/(?!simulator)/.test(relative(ROOT, fileName).padStart(1, '/').replace(/^/, '/')));
  expect(own.length).toBeGreaterThan(60);
  for (const file of own) visit(file, file);
  return found;
}

it('the package builds every error message from literals or marks untrusted parts', { timeout: 120_000 }, () => {
  // Put `sentence` before the template, and `ours(…)` around what is in a variable but ours.
  expect(unmarked()).toEqual([]);
});
