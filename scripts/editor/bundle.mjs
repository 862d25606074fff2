// @ts-check
// Bundles the editor scripts and styles of both packages.
import { readFileSync } from 'node:fs';
import { build, transform } from 'esbuild';

/** Replaces the Node.js modules that the library's validation rules import. @type {import('esbuild').Plugin} */
const browserShims = {
  name: 'browser-shims',
  setup: ({ onResolve, initialOptions }) => {
    onResolve({ filter: /^node:net$/ }, () => ({ path: `${initialOptions.absWorkingDir}/nodes/editor/node-net-shim.ts` }));
  },
};

/** Returns a style sheet of the editor without white space. @param {string} root @param {string} file */
export async function readStyle(root, file) {
  const style = readFileSync(`${root}/nodes/editor/${file}`, 'utf8');
  return (await transform(style, { loader: 'css', minifyWhitespace: true })).code;
}

/**
 * Bundles an entry file into one readable script that defines a global.
 * @param {string} root @param {string} entry @param {string} globalName @param {Record<string, string>} [define] replacements for names in the script
 */
export async function bundle(root, entry, globalName, define = {}) {
  const result = await build({
    absWorkingDir: root.replace(/\/$/, ''),
    entryPoints: [`${root}/nodes/editor/${entry}`],
    plugins: [browserShims],
    tsconfig: `${root}/nodes/editor/tsconfig.json`,
    bundle: true,
    // Every editor page loads the script, so white space goes. Names stay, for readable stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    write: false,
    format: 'iife',
    globalName,
    define,
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
  });
  const [file] = result.outputFiles;
  if (!file) throw new Error('esbuild returned no output file.');
  return file.text;
}
