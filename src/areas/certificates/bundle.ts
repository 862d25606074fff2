import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { ResultLists } from '../../model/envelope';
import { badInput } from '../../model/error';
import { encodeSegment } from '../../model/path';
import { trusted, safeMessage } from '../../model/safe-message';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const PEM = /-----BEGIN [A-Z0-9 ]+-----/;

/**
 * The bundle of an upload as base64 in one line, from a Buffer, base64 text, PEM text or a file. Errors: `BAD_INPUT` when none or
 * two are given, when it cannot be read, or when the password of a PKCS#12 bundle is wrong.
 */
export async function encodeBundle(input: { cert?: Buffer | string; file?: string; password: string }): Promise<string> {
  const { cert, file, password } = input;
  if ((cert === undefined) === (file === undefined)) throw badInput('cert (Bundle) or file is required, and only one of them.');
  const bytes = cert === undefined ? await readBundleFile(file ?? '') : toBytes('cert', cert);
  if (bytes.length === 0) throw badInput('The certificate bundle is empty.');
  if (isWrongPassword(bytes, password)) throw badInput('password does not open the PKCS#12 bundle. Nothing was sent.');
  return bytes.toString('base64');
}

/** A signed certificate for the upload: base64 of its bytes, or PEM text as it is. Errors: `BAD_INPUT` for neither PEM nor base64. */
export function encodeSignedCertificate(certificate: Buffer | string, format: 'base64' | 'text' = 'base64'): string {
  const bytes = toBytes('certificate', certificate);
  if (bytes.length === 0) throw badInput('certificate is empty.');
  if (format === 'base64') return bytes.toString('base64');
  const text = bytes.toString();
  if (!PEM.test(text)) throw badInput('certificate is not PEM text, so it cannot be sent as text. Choose base64.');
  return text;
}

const CSR_PATH = /(?:api\/v1\/)?system\/certificates\/device-certificate-csrs\/([^/"'<>]+)\/certificate/;

/** Name and upload path of a new CSR, where the messages tell them (appliance-api.md, "Certificates"). */
export function findCsr({ info, warnings }: ResultLists): { name: string; uploadPath: string } | undefined {
  for (const { message } of [...info, ...warnings]) {
    const encoded = CSR_PATH.exec(message)?.[1];
    if (encoded === undefined) continue;
    const name = decodeName(encoded);
    // A name that stands in the message as it is, with its spaces, is no path yet.
    const segment = /^[A-Za-z0-9\-._~%]+$/.test(encoded) ? encoded : encodeSegment(name);
    return { name, uploadPath: `/api/v1/system/certificates/device-certificate-csrs/${segment}/certificate` };
  }
  return undefined;
}

function decodeName(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

async function readBundleFile(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw badInput(safeMessage`file cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function toBytes(field: string, value: Buffer | string): Buffer {
  if (typeof value !== 'string') return value;
  if (PEM.test(value)) return Buffer.from(splitPemLines(value));
  const text = value.replace(/\s/g, '');
  if (!BASE64.test(text)) throw badInput(safeMessage`${trusted(field)} is text that is neither base64 nor PEM.`);
  return Buffer.from(text, 'base64');
}

/** PEM as it comes out of a field of one line: without its line ends nothing reads it. */
function splitPemLines(pem: string): string {
  if (/[\r\n]/.test(pem.trim())) return pem;
  return pem.replace(/(-----BEGIN [A-Z0-9 ]+-----)([A-Za-z0-9+/=\s]+)(-----END [A-Z0-9 ]+-----)\s*/g, (_, begin, base64, end) => {
    const lines =
      String(base64)
        .replace(/\s/g, '')
        .match(/.{1,64}/g) ?? [];
    return `${[begin, ...lines, end].join('\n')}\n`;
  });
}

/** Only OpenSSL's word for a wrong password counts: an algorithm that it does not know is no reason to refuse. */
function isWrongPassword(pfx: Buffer, passphrase: string): boolean {
  try {
    createSecureContext({ pfx, passphrase });
    return false;
  } catch (error) {
    return error instanceof Error && /mac verify/i.test(error.message);
  }
}
