import { listDeployedAppliances } from '../appliance/appliance-node';
import { listInventoryAppliances } from '../inventory/inventory-node';
import { createReadRoute } from './admin-route';

/** `GET /gateway-appliance/counters` returns the requests and times of each deployed appliance. */
export const countersRoute = createReadRoute('/gateway-appliance/counters', () =>
  Promise.resolve({
    appliances: [
      ...listDeployedAppliances().map(({ id, label, existingGateway }) => ({
        id,
        name: label,
        counters: existingGateway?.counters() ?? null,
      })),
      ...listInventoryAppliances().map(({ id, name, existingGateway }) => ({
        inventory: id,
        name,
        counters: existingGateway?.counters() ?? null,
      })),
    ],
  }),
);
