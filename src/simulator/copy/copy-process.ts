import process from 'node:process';
import { selfSigned } from '../certificate';
import type { Simulator } from '../simulator';
import { limitMemory } from './limit-memory';
import { startCopy } from './start-copy';
import type { CopyReply, CopyRequest, CopyStartOptions } from './copy-messages';

// A copy in a separate process. It ends with the process that started it, also if that one crashes.
limitMemory();
let options: CopyStartOptions | undefined;
let simulator: Simulator | undefined;

async function start(): Promise<CopyReply> {
  if (!options) return { kind: 'failed', message: 'The copy has no options.' };
  await simulator?.close();
  simulator = undefined;
  const { tls = selfSigned(['127.0.0.1']) } = options;
  simulator = await startCopy({ ...options, tls });
  // A reset keeps the port and the certificate, so that open gateways find the copy again.
  options = { ...options, port: simulator.port, tls };
  return { kind: 'ready', url: simulator.url, ca: tls.cert, key: tls.key };
}

async function answer(request: CopyRequest): Promise<void> {
  let reply: CopyReply;
  try {
    if (request.kind === 'start') options = request.options;
    reply = await start();
  } catch (error) {
    reply = { kind: 'failed', message: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
  if (process.connected) process.send?.(reply);
}

process.on('message', (request: CopyRequest) => void answer(request));
process.on('disconnect', () => process.exit());
// Ctrl-C reaches the whole group of processes. The copy ends after the process that uses it.
process.on('SIGINT', () => undefined);

// esbuild takes a file without exports for CommonJS.
export {};
