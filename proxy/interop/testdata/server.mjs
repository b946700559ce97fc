// A server made with Node's http, or http2 without TLS: node server.mjs PORT KEEP-ALIVE-MILLISECONDS [h2c]. SIGTERM ends it.
import { createHash } from "node:crypto";
import * as http from "node:http";
import * as http2 from "node:http2";

const line = "All that is gold does not glitter, not all those who wander are lost.\n";

const { createServer } = process.argv[4] === "h2c" ? http2 : http;
const server = createServer((request, answer) => {
  const url = new URL(request.url, "http://localhost");
  switch (url.pathname) {
    case "/text":
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
  }
  answer.end(`${request.method} ${request.url}\n`);
});
server.keepAliveTimeout = Number(process.argv[3]);
server.listen(Number(process.argv[2]), "127.0.0.1", 4096, () => console.log("ready"));
process.on("SIGTERM", () => process.exit(0));
