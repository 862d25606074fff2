import { accountRoute } from './account-capabilities';
import type { AdminRoute } from './admin-route';
import { countersRoute } from './counters-route';
import { folderRoute } from './folder-route';
import { helpRoute } from './help-route';
import { inventoryRoutes } from './inventory-routes';
import { lookupRoutes } from './lookup-routes';
import { overviewRoutes } from './overview-routes';
import { previewRoutes } from './preview-route';
import { rehearsalRoute } from './rehearsal-route';
import { testRoute } from './test-connection';
import { tryNowRoute } from './try-route';

/** All routes that the editor uses (docs/contract.md, "Sidebar" and "Dialogs"). */
export const adminRoutes: readonly AdminRoute[] = [
  testRoute,
  countersRoute,
  ...overviewRoutes,
  accountRoute,
  ...lookupRoutes,
  ...inventoryRoutes,
  ...previewRoutes,
  tryNowRoute,
  folderRoute,
  rehearsalRoute,
  helpRoute,
];
