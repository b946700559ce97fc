// A client made with Node's http, fetch and WebSocket: node client.mjs BASE-URL PART... It prints a line for each part that
// went as it should, and dies of the first that did not.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { Readable } from "node:stream";

const [base, ...parts] = process.argv.slice(2);
const sha256 = (b) => createHash("sha256").update(b).digest("hex");

// ask sends a request and resolves to its answer and the body. body may be a stream.
function ask(agent, method, path, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const r = request(base + path, { agent, method, headers }, (answer) => {
      const pieces = [];
      answer.on("data", (b) => pieces.push(b));
      answer.on("error", reject);
      answer.on("end", () => resolve({ status: answer.statusCode, body: Buffer.concat(pieces), socket }));
    });
    let socket;
    r.on("socket", (s) => { socket = s.localPort ?? s; if (typeof socket !== "number") s.once("connect", () => { socket = s.localPort; }); });
    r.on("error", reject);
    if (body instanceof Readable) body.pipe(r); else r.end(body);
  });
}

// slowly is a stream of n pieces, each in a turn of its own.
const slowly = (n, piece) => Readable.from((async function* () {
  for (let i = 0; i < n; i++) { await new Promise(setImmediate); yield piece; }
})());

const all = {
  async kept() {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set();
    for (let i = 0; i < 50; i++) {
      const { status, body, socket } = await ask(agent, "GET", `/echo/${i}`);
      assert.equal(`${status} ${body}`, `200 GET /echo/${i}\n`);
      sockets.add(socket);
    }
    agent.destroy();
    return `50 requests, ${sockets.size} connections`;
  },

  async parallel() {
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const sockets = new Set();
    await Promise.all(Array.from({ length: 80 }, async (_, i) => {
      const data = randomBytes(1 + i * 1009);
      const { body, socket } = await ask(agent, "POST", "/hash", data);
      assert.equal(String(body), `POST ${data.length} ${sha256(data)}\n`);
      sockets.add(socket);
    }));
    agent.destroy();
    return `80 requests, ${sockets.size} connections`;
  },

  async upload() {
    const piece = randomBytes(100_000), digest = createHash("sha256");
    for (let i = 0; i < 100; i++) digest.update(piece);
    const { body } = await ask(new Agent(), "PUT", "/hash", slowly(100, piece));
    assert.equal(String(body), `PUT 10000000 ${digest.digest("hex")}\n`);
    return "10000000 bytes in chunks";
  },

  async download() {
    const { body } = await ask(new Agent(), "GET", "/bytes?n=16777216");
    assert.equal(body.length, 1 << 24);
    return sha256(body);
  },

  async pauses() { // the server closes its connections after 200 ms
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const pause of [0, 300, 0, 190, 195, 198, 200, 202, 205, 210]) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      const { status, body } = await ask(agent, "GET", `/echo/${pause}`);
      assert.equal(`${status} ${body}`, `200 GET /echo/${pause}\n`);
    }
    agent.destroy();
    return "10 requests";
  },

  async fetch() {
    for (let i = 0; i < 20; i++) {
      assert.equal(await (await fetch(`${base}/echo?${i}`)).text(), `GET /echo?${i}\n`);
      const data = randomBytes(10_000);
      const answer = await fetch(`${base}/hash`, { method: "POST", body: slowly(3, data), duplex: "half" });
      assert.equal(await answer.text(), `POST 30000 ${sha256(Buffer.concat([data, data, data]))}\n`);
    }
    return "40 requests";
  },

  // Each event is sent only when the one before is known to have arrived.
  async events() {
    const answer = await fetch(`${base}/events`);
    assert.equal(answer.headers.get("content-type"), "text/event-stream");
    let n = 0, rest = "";
    for await (const b of answer.body.pipeThrough(new TextDecoderStream())) {
      rest += b;
      for (let at; (at = rest.indexOf("\n\n")) >= 0; rest = rest.slice(at + 2)) {
        assert.equal(rest.slice(0, at), `data: ${n++}`);
        await (await fetch(`${base}/seen`, { method: "POST" })).text();
      }
    }
    return `${n} events`;
  },

  async websocket() {
    const ws = new WebSocket(base.replace("http:", "ws:") + "/websocket");
    ws.binaryType = "arraybuffer";
    const messages = ["one", "", "x".repeat(125), "y".repeat(126), "z".repeat(70_000), "€".repeat(100_000), "last"];
    const got = [];
    return new Promise((resolve, reject) => {
      ws.onerror = (e) => reject(e.error ?? new Error(`the WebSocket failed: ${e.message}`));
      ws.onopen = () => messages.forEach((m) => ws.send(m));
      ws.onmessage = (e) => {
        got.push(e.data);
        if (got.length === messages.length) {
          assert.deepEqual(got, messages);
          ws.close(1000, "enough");
        }
      };
      ws.onclose = (e) => resolve(`${got.length} messages, closed with ${e.code}`);
    });
  },
};

for (const part of parts) console.log(`${part}: ${await all[part]()}`);
