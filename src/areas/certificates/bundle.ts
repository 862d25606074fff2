import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { ResultMessageLists } from '../../model/envelope';
import { badInput } from '../../model/error';
import { encodePathSegment } from '../../model/path';
import { trusted, safeMessage } from '../../model/safe-message';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const PEM = /-----BEGIN [A-Z0-9 ]+-----/;

/**
 * Encodes a bundle from a Buffer, base64 text, PEM text or a file as one line of base64. Errors: `BAD_INPUT` for no or two bundles,
 * an unreadable file, or a wrong password of a PKCS#12 bundle.
 */
export async function encodeCertificateBundle(input: { cert?: Buffer | string; file?: string; password: string }): Promise<string> {
  const { cert, file, password } = input;
  if ((cert === undefined) === (file === undefined))
    throw badInput('Either cert (Bundle) or file is required, and not both. Nothing was sent.');
  const bytes = cert === undefined ? await readBundleFile(file ?? '') : toBytes('cert', cert);
  if (bytes.length === 0) throw badInput('The certificate bundle is empty. Nothing was sent.');
  if (isWrongPassword(bytes, password)) throw badInput('password does not open the PKCS#12 bundle. Check the password. Nothing was sent.');
  return bytes.toString('base64');
}

/** Encodes a signed certificate as base64 or as unchanged PEM text. Errors: `BAD_INPUT` for text that is neither PEM nor base64. */
export function encodeSignedCertificate(certificate: Buffer | string, format: 'base64' | 'text' = 'base64'): string {
  const bytes = toBytes('certificate', certificate);
  if (bytes.length === 0) throw badInput('certificate is empty. Nothing was sent.');
  if (format === 'base64') return bytes.toString('base64');
  const text = bytes.toString();
  if (!PEM.test(text)) throw badInput('certificate is not PEM text and cannot be sent as text. Choose base64. Nothing was sent.');
  return text;
}

const CSR_PATH = /(?:api\/v1\/)?system\/certificates\/device-certificate-csrs\/([^/"'<>]+)\/certificate/;

/** Finds the name and the upload path of a new CSR in the messages of the appliance (appliance-api.md, "Certificates"). */
export function findSigningRequest({ info, warnings }: ResultMessageLists): { name: string; uploadPath: string } | undefined {
  for (const { message } of [...info, ...warnings]) {
    const encoded = CSR_PATH.exec(message)?.[1];
    if (encoded === undefined) continue;
    const name = decodeName(encoded);
    // Some releases put the raw name into the message, which must be encoded first.
    const segment = /^[A-Za-z0-9\-._~%]+$/.test(encoded) ? encoded : encodePathSegment(name);
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
    throw badInput(safeMessage`file cannot be read: ${error instanceof Error ? error.message : String(error)}. Nothing was sent.`);
  }
}

function toBytes(field: string, value: Buffer | string): Buffer {
  if (typeof value !== 'string') return value;
  if (PEM.test(value)) return Buffer.from(splitPemLines(value));
  const text = value.replace(/\s/g, '');
  if (!BASE64.test(text)) throw badInput(safeMessage`${trusted(field)} is neither base64 nor PEM text. Nothing was sent.`);
  return Buffer.from(text, 'base64');
}

/** Restores the line breaks of PEM text from a single-line field, because OpenSSL requires them. */
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

/** Checks only for OpenSSL's wrong-password error, because the appliance may support algorithms that OpenSSL rejects. */
function isWrongPassword(pfx: Buffer, passphrase: string): boolean {
  try {
    createSecureContext({ pfx, passphrase });
    return false;
  } catch (error) {
    return error instanceof Error && /mac verify/i.test(error.message);
  }
}
