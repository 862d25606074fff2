import { asGatewayError } from '../../src/model/error';
import { Inventory, runOnMany, type InventoryOptions } from '../../src/inventory';

// Lists the sessions of many appliances in a process of its own, which may have so many files open.
interface Task {
  readonly settings: InventoryOptions;
  readonly entries: unknown[];
  readonly selection: string;
}

const [, , argument = ''] = process.argv;
const { settings, entries, selection } = JSON.parse(argument) as Task;

async function work(): Promise<object> {
  const inventory = new Inventory(settings);
  await inventory.loadEntries(entries);
  try {
    const { data } = await runOnMany(inventory.select(selection), 'sessions.list', {});
    return { ok: data.ok, failed: data.failed };
  } catch (thrown) {
    const { code, message } = asGatewayError(thrown);
    return { code, message };
  }
}

void work().then((told) => process.stdout.write(JSON.stringify(told), () => process.exit()));
