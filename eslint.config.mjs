import { existsSync } from 'node:fs';
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

// The second package is installed at first need (scripts/fleet.mjs); before that nothing is known of the types that it uses.
const hasFleet = existsSync(`${import.meta.dirname}/fleet/node_modules`);
const projects = [
  'tsconfig.test.json',
  'nodes/editor/tsconfig.json',
  ...(hasFleet ? ['fleet/tsconfig.test.json', 'fleet/nodes/editor/tsconfig.json'] : []),
];

export default tseslint.config(
  { ignores: ['dist/', 'dist.new/', 'dist.old/', '**/dist/', '**/node_modules/', 'tools/', 'coverage/', '.demo/', '.stryker-tmp/', ...(hasFleet ? [] : ['fleet/'])] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: projects, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['**/*.{mjs,cjs}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        performance: 'readonly',
        Buffer: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
      },
    },
  },
);
