import { addUndocumentedRoutes } from './undocumented-routes';
import { addClusterRoutes } from './cluster';
import { addConfigurationRoutes } from './configuration';
import { addCertificateRoutes } from './device-certificates';
import { addLicenseRoutes } from './license';
import { addLoginRoutes } from './login';
import type { Router } from './router';
import { addSessionRoutes } from './sessions';
import { addSystemRoutes } from './system';
import { addTransferRoutes } from './transfer';

/** Adds the routes of every area (appliance-api.md, "Endpoints"). */
export const routeAreas: readonly ((router: Router) => void)[] = [
  addLoginRoutes,
  addSessionRoutes,
  addConfigurationRoutes,
  addSystemRoutes,
  addLicenseRoutes,
  addCertificateRoutes,
  addClusterRoutes,
  addTransferRoutes,
  addUndocumentedRoutes,
];
