import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { FaultRule } from './faults';
import type { StreamedBody } from './reply';
import type { Variants } from './variants';

const MIB = 1 << 20;
/** A longer import is read and discarded, because the simulator holds its state in memory. */
const MAX_HELD_BYTES = 64 * MIB;
const LINE_BYTES = 57;

export function isTooLargeForMemory(headers: IncomingHttpHeaders): boolean {
  return Number(headers['content-length'] ?? 0) > MAX_HELD_BYTES;
}

/** Adds generated user roles to the document until it has the given size. A document without user roles stays unchanged. */
export function padXmlExport(document: string, mebibytes: number): StreamedBody | undefined {
  const role = /<user-role>[\s\S]*?<\/user-role>\n/.exec(document)?.[0];
  const end = document.lastIndexOf('</user-role>\n') + '</user-role>\n'.length;
  const head = Buffer.from(document.slice(0, end));
  const tail = Buffer.from(document.slice(end));
  const missing = mebibytes * MIB - head.length - tail.length;
  if (role === undefined || missing <= 0) return undefined;
  const piece = (number: number): Buffer => Buffer.from(generateRoles(role, number));
  // Numbers of a fixed length give pieces of equal length.
  const { length } = piece(0);
  const count = Math.max(1, Math.round(missing / length));
  return {
    bytes: head.length + count * length + tail.length,
    *pieces() {
      yield head;
      for (let number = 0; number < count; number++) yield piece(number);
      yield tail;
    },
  };
}

function generateRoles(role: string, number: number): string {
  const each = Math.max(1, Math.floor(MIB / 4 / role.length));
  return Array.from({ length: each }, (_, index) => withGeneratedName(role, number * each + index)).join('');
}

function withGeneratedName(role: string, number: number): string {
  return role.replace(/<name>[^<]*<\/name>/, `<name>Generated ${String(number).padStart(10, '0')}</name>`);
}

/** Adds an uncompressed file to the ZIP until its base64 text has the given size, with `line` characters per line. */
export function padBinaryExport(zip: Buffer, mebibytes: number, line: number): StreamedBody | undefined {
  const missing = Math.floor((mebibytes * MIB * 3) / 4) - zip.length;
  if (missing <= 0 || line % 4 !== 0) return undefined;
  const block = Buffer.alloc(LINE_BYTES * 4096, 'generated configuration data ');
  const count = Math.max(1, Math.round(missing / block.length));
  const parts = (): Iterable<Buffer> => addFileToZip(zip, block, count);
  let bytes = 0;
  for (const part of parts()) bytes += part.length;
  const characters = Math.ceil(bytes / 3) * 4;
  return { bytes: characters + Math.ceil(characters / line), pieces: () => toBase64Lines(parts(), line) };
}

/** The added file comes first, so that its offset is known. The other files and the directory follow. */
function* addFileToZip(zip: Buffer, block: Buffer, count: number): Iterable<Buffer> {
  const name = Buffer.from('generated.bin');
  const size = block.length * count;
  let crc = 0;
  for (let index = 0; index < count; index++) crc = crc32(block, crc);
  const common = Buffer.alloc(26);
  common.writeUInt16LE(10, 0);
  common.writeUInt32LE(crc, 10);
  common.writeUInt32LE(size, 14);
  common.writeUInt32LE(size, 18);
  common.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, name]);
  yield local;
  for (let index = 0; index < count; index++) yield block;
  const moved = local.length + size;
  const start = zip.readUInt32LE(zip.length - 6);
  yield zip.subarray(0, start);
  const directory = Buffer.from(zip.subarray(start));
  const entries = directory.readUInt16LE(directory.length - 12);
  for (let at = 0, left = entries; left > 0; left--) {
    directory.writeUInt32LE(directory.readUInt32LE(at + 42) + moved, at + 42);
    at += 46 + directory.readUInt16LE(at + 28) + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  const own = Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'), common, Buffer.alloc(14), name]);
  const end = directory.subarray(directory.length - 22);
  end.writeUInt16LE(entries + 1, 8);
  end.writeUInt16LE(entries + 1, 10);
  end.writeUInt32LE(directory.length - 22 + own.length, 12);
  end.writeUInt32LE(start + moved, 16);
  yield Buffer.concat([own, directory]);
}

function* toBase64Lines(parts: Iterable<Buffer>, line: number): Iterable<Buffer> {
  const bytesOfLine = (line / 4) * 3;
  const pattern = new RegExp(`.{1,${line}}`, 'g');
  const text = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('base64').replace(pattern, '$&\n'), 'latin1');
  let rest = Buffer.alloc(0);
  for (const part of parts) {
    const bytes = Buffer.concat([rest, part]);
    const completeBytes = bytes.length - (bytes.length % bytesOfLine);
    rest = Buffer.from(bytes.subarray(completeBytes));
    if (completeBytes > 0) yield text(bytes.subarray(0, completeBytes));
  }
  if (rest.length > 0) yield text(rest);
}

/** Sends a stream at `transferRate`, with the faults cut, truncate and corrupt. Resolves at its end. */
export async function sendStream(
  stream: StreamedBody,
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  variants: Variants,
  fault: FaultRule | undefined,
): Promise<void> {
  const { truncate, cut, corrupt } = fault ?? {};
  const bytes = Math.min(truncate === 'half' ? stream.bytes >> 1 : (truncate ?? Infinity), stream.bytes);
  const sent = cut === undefined ? bytes : cut === 'half' ? Math.floor(bytes / 2) : typeof cut === 'number' ? cut : 0;
  response.writeHead(status, { ...headers, 'content-length': bytes });
  let at = 0;
  for (const piece of stream.pieces()) {
    if (at >= sent || response.destroyed) break;
    const part = Buffer.from(piece.subarray(0, sent - at));
    if (corrupt !== undefined && corrupt >= at && corrupt < at + part.length) part[corrupt - at] = 0x01;
    at += part.length;
    if (!response.write(part)) await waitForDrain(response);
    if (variants.transferRate > 0) await wait(part.length / variants.transferRate);
  }
  if (cut === undefined) response.end();
  else response.socket?.end(() => response.socket?.destroy());
}

function waitForDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      response.off('drain', finish).off('close', finish);
      resolve();
    };
    response.once('drain', finish).once('close', finish);
  });
}
