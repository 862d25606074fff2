export { restoreBackup } from './restore';
export { listBackups, runBackup } from './run';
export { verifyBackups } from './verify';
