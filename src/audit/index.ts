export { runAudit } from './run-audit';
