// A server made with Node's http or http2: node server.mjs PORT KEEP-ALIVE-MILLISECONDS [h2c | h2 CERT-FILE KEY-FILE]. SIGTERM ends it.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as http2 from "node:http2";
import { accept, echo } from "./frames.mjs";

const line = "All that is gold does not glitter, not all those who wander are lost.\n";
const [port, keepAlive, version, certFile, keyFile] = process.argv.slice(2);

function respond(request, answer) {
  const url = new URL(request.url, "http://localhost");
  switch (url.pathname) {
    case "/text":
      request.resume(); // else Node resets the stream while a part of a response above 64 KiB waits for its window
      answer.setHeader("Content-Type", "text/plain");
      answer.end(line.repeat(1500));
      return;
    case "/hash": {
      const hash = createHash("sha256");
      let length = 0;
      request.on("data", (b) => { hash.update(b); length += b.length; });
      request.on("end", () => answer.end(`${request.method} ${length} ${hash.digest("hex")}\n`));
      return;
    }
    case "/bytes": {
      let at = 0, left = Number(url.searchParams.get("n"));
      const go = () => {
        while (left > 0) {
          let piece = "";
          for (; piece.length < Math.min(left, 65536); at++) piece += String(at % 65536).padStart(15, "0") + "\n";
          piece = piece.slice(0, left);
          left -= piece.length;
          if (!answer.write(piece)) { answer.once("drain", go); return; }
        }
        answer.end();
      };
      go();
      return;
    }
    case "/trailers": {
      const hash = createHash("sha256");
      answer.setHeader("Trailer", "x-hash, x-client");
      answer.write(""); // sends the head
      request.on("data", (b) => { hash.update(b); answer.write(b); });
      request.on("end", () => {
        answer.addTrailers({ "x-hash": hash.digest("hex"), "x-client": request.trailers["x-client"] ?? "none" });
        answer.end();
      });
      return;
    }
    case "/204":
      answer.statusCode = 204;
      answer.end();
      return;
    case "/304":
      answer.statusCode = 304;
      answer.setHeader("ETag", '"1"');
      answer.end();
      return;
    case "/103":
      answer.writeEarlyHints({ link: "</a>; rel=preload" });
      break;
    case "/early":
      answer.statusCode = 413;
      answer.setHeader("Content-Length", "5");
      answer.end("early");
      return;
  }
  answer.end(`${request.method} ${request.url}\n`);
}

let server;
if (version === undefined) {
  server = http.createServer(respond);
  server.keepAliveTimeout = Number(keepAlive);
  server.on("upgrade", (request, socket) => {
    const key = accept(request.headers["sec-websocket-key"]);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
    echo(socket);
  });
} else {
  // By default, Node refuses streams while 10 MB of responses wait on a connection.
  const options = { settings: { enableConnectProtocol: true }, maxSessionMemory: 1000 };
  server = version === "h2c"
    ? http2.createServer(options, respond)
    : http2.createSecureServer({ ...options, cert: readFileSync(certFile), key: readFileSync(keyFile) }, respond);
  server.on("connect", (request, { stream }) => { // RFC 8441
    if (request.headers[":protocol"] === "websocket") {
      stream.respond({ ":status": 200 });
      echo(stream);
    } else {
      stream.respond({ ":status": 501 }, { endStream: true });
    }
  });
}
server.listen(Number(port), "127.0.0.1", 4096, () => console.log("ready"));
process.on("SIGTERM", () => process.exit(0));
