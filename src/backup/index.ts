export { listBackups } from './list';
export { restoreBackup } from './restore';
export { runBackup } from './run';
export { verifyBackups } from './verify';
