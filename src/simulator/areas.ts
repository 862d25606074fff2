import { beyondRoutes } from './beyond';
import { clusterRoutes } from './cluster';
import { configurationRoutes } from './configuration';
import { certificateRoutes } from './device-certificates';
import { licenseRoutes } from './license';
import { loginRoutes } from './login';
import type { Router } from './router';
import { sessionRoutes } from './sessions';
import { systemRoutes } from './system';
import { transferRoutes } from './transfer';

/** Every area of the interface; each adds its own rows of appliance-api.md, "Endpoints". */
export const areas: readonly ((router: Router) => void)[] = [
  loginRoutes,
  sessionRoutes,
  configurationRoutes,
  systemRoutes,
  licenseRoutes,
  certificateRoutes,
  clusterRoutes,
  transferRoutes,
  beyondRoutes,
];
