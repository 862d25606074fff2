import { Gateway } from '../../src/gateway';
import type { Settings } from '../../src/model/settings';

// Runs one operation in a process of its own, so that it can be killed in the middle.
const [, , argument = ''] = process.argv;
const { settings, operation, input } = JSON.parse(argument) as { settings: Settings; operation: string; input: Record<string, unknown> };
new Gateway(settings).run(operation, input).then(
  ({ data }) => console.log(JSON.stringify(data)),
  (error: unknown) => console.log(String(error)),
);
