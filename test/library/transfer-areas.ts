import { operations } from '../../src/areas';
import { backup } from '../../src/areas/backup';
import { transfer } from '../../src/areas/transfer';
import type { Operation } from '../../src/operation';

/** As long as the registry does not list the two areas: the same map with their operations. */
export function register(): void {
  for (const area of [transfer, backup]) {
    for (const [name, operation] of Object.entries(area.operations))
      (operations as Map<string, Operation>).set(`${area.name}.${name}`, operation);
  }
}
