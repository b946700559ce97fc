// WebSocket frames (RFC 6455, section 5.2) on a stream of bytes: a connection after an upgrade, or a stream of HTTP/2.
import { createHash, randomBytes } from "node:crypto";

// accept returns the value of Sec-WebSocket-Accept for a key.
export const accept = (key) => createHash("sha1").update(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");

// frame encodes a frame. Clients mask.
export function frame(opcode, data, mask = false) {
  const n = data.length;
  const head = Buffer.alloc(n < 126 ? 2 : n < 65536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (n < 126) head[1] = n;
  else if (n < 65536) { head[1] = 126; head.writeUInt16BE(n, 2); }
  else { head[1] = 127; head.writeBigUInt64BE(BigInt(n), 2); }
  if (!mask) return Buffer.concat([head, data]);
  head[1] |= 0x80;
  const key = randomBytes(4);
  return Buffer.concat([head, key, data.map((b, i) => b ^ key[i % 4])]);
}

// read calls handle(opcode, data) for each frame that arrives on a stream.
export function read(stream, handle) {
  let rest = Buffer.alloc(0);
  stream.on("data", (piece) => {
    rest = Buffer.concat([rest, piece]);
    for (;;) {
      if (rest.length < 2) return;
      let n = rest[1] & 0x7f, at = 2;
      if (n === 126) { if (rest.length < 4) return; n = rest.readUInt16BE(2); at = 4; }
      else if (n === 127) { if (rest.length < 10) return; n = Number(rest.readBigUInt64BE(2)); at = 10; }
      const masked = rest[1] & 0x80 ? 4 : 0;
      if (rest.length < at + masked + n) return;
      const key = rest.subarray(at, at + masked);
      const data = Buffer.from(rest.subarray(at + masked, at + masked + n));
      if (masked) data.forEach((b, i) => { data[i] = b ^ key[i % 4]; });
      const opcode = rest[0] & 0x0f;
      rest = rest.subarray(at + masked + n);
      handle(opcode, data);
    }
  });
}

// echo returns each frame, and ends the stream after the close frame.
export function echo(stream) {
  read(stream, (opcode, data) => {
    stream.write(frame(opcode, data));
    if (opcode === 8) stream.end();
  });
  stream.on("error", () => stream.destroy());
}
