/** Imports in turn (appliance-api.md, "Limits", 3). */
export interface TransferState {
  /** Resolves after the latest import. The next one waits for it. */
  queue: Promise<unknown>;
  running: number;
  waiting: number;
}

export const createTransferState = (): TransferState => ({ queue: Promise.resolve(), running: 0, waiting: 0 });
