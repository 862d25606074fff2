import type { Row } from './row';
import { requestRows } from './request-rows';
import { serviceRows } from './service-rows';
import { transferRows } from './transfer-rows';
import { treeRows } from './tree-rows';

export type { Row };
export const rows: readonly Row[] = [...treeRows, ...serviceRows, ...transferRows, ...requestRows];
