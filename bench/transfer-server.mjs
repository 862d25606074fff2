// An appliance that sends and accepts configurations of any size without holding them, in a separate process, for bench/transfer.mjs.
import { createServer } from 'node:https';
import { createRequire } from 'node:module';

const { selfSigned } = createRequire(import.meta.url)(process.env.GATEWAY_SIMULATOR ?? '../dist/src/simulator/index.js');
const PIECE = 1 << 20;
const certificate = selfSigned();

function xml(bytes) {
  const user =
    '  <user>\n    <name>j.doe</name>\n    <realm type="object"><id>Users &amp; Guests</id></realm>\n    <note lang="de">Grüße aus der Zentrale, Zimmer 12</note>\n  </user>\n';
  const piece = Buffer.from(user.repeat(Math.floor(PIECE / Buffer.byteLength(user))));
  const head = Buffer.from('<?xml version="1.0" encoding="UTF-8"?>\n<configuration xmlns="urn:appliance:configuration">\n');
  return { head, piece, count: Math.floor(bytes / piece.length), tail: Buffer.from('</configuration>\n') };
}

/** A ZIP with one stored file as base64 lines of 76 characters. Every part has complete lines. */
function binary(bytes) {
  const lines = (buffer) => Buffer.from(buffer.toString('base64').replace(/.{1,76}/g, '$&\n'));
  const block = Buffer.alloc(57 * Math.floor(PIECE / 77), 'configuration data 0123456789 ');
  const piece = lines(block);
  const count = Math.floor(bytes / piece.length);
  const size = block.length * count;
  const name = Buffer.from('system-configuration.binary');
  const head = Buffer.alloc(57);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt32LE(size, 18);
  head.writeUInt32LE(size, 22);
  head.writeUInt16LE(name.length, 26);
  name.copy(head, 30);
  const directory = Buffer.alloc(46 + name.length + 22);
  directory.writeUInt32LE(0x02014b50, 0);
  directory.writeUInt32LE(size, 20);
  directory.writeUInt32LE(size, 24);
  directory.writeUInt16LE(name.length, 28);
  name.copy(directory, 46);
  const end = 46 + name.length;
  directory.writeUInt32LE(0x06054b50, end);
  directory.writeUInt16LE(1, end + 8);
  directory.writeUInt16LE(1, end + 10);
  directory.writeUInt32LE(end, end + 12);
  directory.writeUInt32LE(57 + size, end + 16);
  return { head: lines(head), piece, count, tail: lines(directory) };
}

function send(response, type, { head, piece, count, tail }) {
  response.writeHead(200, { 'content-type': type, 'content-length': head.length + piece.length * count + tail.length });
  response.write(head);
  let left = count;
  const more = () => {
    while (left > 0) {
      left--;
      if (!response.write(piece)) return void response.once('drain', more);
    }
    response.end(tail);
  };
  more();
}

const bytes = Number(process.argv[2]);
/** Of all requests. */
let total = 0;
process.on('message', () => process.send(total));
process.on('disconnect', () => process.exit());
const bodies = { xml: xml(bytes), binary: binary(bytes) };
const server = createServer({ ...certificate, requestTimeout: 0 }, (request, response) => {
  const { url, method } = request;
  let received = 0;
  request.on('data', (chunk) => {
    received += chunk.length;
    total += chunk.length;
  });
  request.on('end', () => {
    if (url.endsWith('/export-xml')) send(response, 'application/xml', bodies.xml);
    else if (url.includes('/binary-configuration') && method === 'POST') send(response, 'text/html; charset=utf-8', bodies.binary);
    else {
      const answer = url.endsWith('_auth') ? { api_key: 'key' } : { result: { info: [{ message: `received ${received}` }] } };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    }
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, ca: certificate.cert }));
