// A client made with Node's http, https or http2: node features.mjs http1|http2 BASE-URL [OMITTED-CHECK...]. It uses the
// features of HTTP that proxies get wrong. It prints "passed N" or dies of the first check that fails.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import * as http from "node:http";
import * as http2 from "node:http2";
import * as https from "node:https";
import { accept, frame, read } from "./frames.mjs";

const [version, base, ...omitted] = process.argv.slice(2);
const url = new URL(base);
const sha256 = (b) => createHash("sha256").update(b).digest("hex");

// Each version has ask, which sends a request and resolves to { status, headers, body, trailers, interim }, and websocket, which
// resolves to a stream of frames.
const versions = {
  http1() {
    const { Agent, request } = url.protocol === "https:" ? https : http;
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    return {
      ask: (method, path, { headers = {}, body, trailers, expect } = {}) => new Promise((resolve, reject) => {
        const r = request(base + path, { agent, method, headers: { ...headers, ...(trailers && { Trailer: Object.keys(trailers).join() }), ...(expect && { Expect: "100-continue" }) } });
        const interim = [];
        let responded = false;
        const send = () => { if (trailers) { r.write(body); r.addTrailers(trailers); r.end(); } else r.end(body); };
        r.on("information", ({ statusCode }) => { interim.push(statusCode); if (statusCode === 100) send(); });
        r.on("response", (response) => {
          responded = true;
          const pieces = [];
          response.on("data", (b) => pieces.push(b));
          response.on("error", reject);
          response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces), trailers: response.trailers, interim }));
        });
        r.on("error", (e) => { if (!responded) reject(e); }); // after an early response, the server stops reading
        if (expect) r.flushHeaders(); else send();
      }),
      websocket: () => new Promise((resolve, reject) => {
        const key = randomBytes(16).toString("base64");
        const r = request(`${base}/websocket`, { headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": 13, "Sec-WebSocket-Key": key } });
        r.on("upgrade", (response, socket) => {
          assert.equal(response.headers["sec-websocket-accept"], accept(key));
          resolve(socket);
        });
        r.on("response", (response) => reject(new Error(`status ${response.statusCode} instead of an upgrade`)));
        r.on("error", reject);
        r.end();
      }),
      close: () => agent.destroy(),
    };
  },
  http2() {
    const session = http2.connect(base);
    return {
      ask: (method, path, { headers = {}, body, trailers, expect } = {}) => new Promise((resolve, reject) => {
        const r = session.request({ ":method": method, ":path": path, ...headers, ...(trailers && { trailer: Object.keys(trailers).join() }), ...(expect && { expect: "100-continue" }) }, { endStream: body === undefined, waitForTrailers: trailers !== undefined });
        const interim = [], pieces = [];
        let status, head, tail = {};
        r.on("wantTrailers", () => r.sendTrailers(trailers));
        r.on("headers", (h) => interim.push(h[":status"]));
        r.on("continue", () => r.end(body));
        r.on("response", (h) => { status = h[":status"]; head = h; });
        r.on("trailers", (h) => { tail = h; });
        r.on("data", (b) => pieces.push(b));
        r.on("error", reject);
        r.on("end", () => resolve({ status, headers: head, body: Buffer.concat(pieces), trailers: tail, interim }));
        if (body !== undefined && !expect) r.end(body);
      }),
      websocket: async () => {
        if (session.remoteSettings.enableConnectProtocol === undefined) await new Promise((resolve) => session.once("remoteSettings", resolve));
        assert.equal(session.remoteSettings.enableConnectProtocol, true); // RFC 8441, section 3
        const r = session.request({ ":method": "CONNECT", ":protocol": "websocket", ":scheme": url.protocol.slice(0, -1), ":path": "/websocket", "sec-websocket-version": "13" }, { endStream: false });
        return new Promise((resolve, reject) => {
          r.on("response", (h) => (h[":status"] === 200 ? resolve(r) : reject(new Error(`status ${h[":status"]} instead of a tunnel`))));
          r.on("error", reject);
        });
      },
      close: () => session.close(),
    };
  },
};

const { ask, websocket, close } = versions[version]();
const large = randomBytes(3_000_000);
const checks = {
  async echo() {
    const { status, body } = await ask("GET", "/echo?a=b&c=%20%0d");
    assert.equal(`${status} ${body}`, "200 GET /echo?a=b&c=%20%0d\n");
  },
  async head() {
    const { status, body } = await ask("HEAD", "/text");
    assert.equal(`${status} ${body.length}`, "200 0");
  },
  async noContent() {
    for (const wanted of [204, 304]) {
      const { status, body } = await ask("GET", `/${wanted}`);
      assert.equal(`${status} ${body.length}`, `${wanted} 0`);
    }
  },
  async upload() {
    const { body } = await ask("PUT", "/hash", { body: large });
    assert.equal(String(body), `PUT ${large.length} ${sha256(large)}\n`);
  },
  async uploadWithLength() {
    const { body } = await ask("PUT", "/hash", { body: large, headers: { "content-length": large.length } });
    assert.equal(String(body), `PUT ${large.length} ${sha256(large)}\n`);
  },
  async download() {
    const { body } = await ask("GET", "/bytes?n=5000000");
    assert.equal(body.length, 5_000_000);
    for (let i = 0; i < 312_500; i += 1000) assert.equal(String(body.subarray(i * 16, i * 16 + 16)), `${String(i % 65536).padStart(15, "0")}\n`);
  },
  async continues() {
    const { status, body, interim } = await ask("PUT", "/hash", { body: large, expect: true });
    assert.equal(`${interim} ${status} ${body}`, `100 200 PUT ${large.length} ${sha256(large)}\n`);
  },
  async earlyHints() {
    const { status, interim } = await ask("GET", "/103");
    assert.equal(`${interim} ${status}`, "103 200");
  },
  async trailers() {
    const { status, body, trailers } = await ask("POST", "/trailers", { body: large, trailers: { "x-client": "behind the body" } });
    assert.equal(status, 200);
    assert.ok(body.equals(large), `${body.length} bytes, or others`);
    assert.equal(trailers["x-hash"], sha256(large));
    assert.equal(trailers["x-client"], "behind the body");
  },
  async early() {
    const { status, body } = await ask("POST", "/early", { body: large });
    assert.equal(`${status} ${body}`, "413 early");
  },
  async parallel() {
    await Promise.all(Array.from({ length: 60 }, async (_, i) => {
      const data = large.subarray(i * 1000, i * 2009);
      const { body, trailers } = await ask("POST", "/trailers", { body: data, trailers: { "x-client": `number ${i}` } });
      assert.ok(body.equals(data));
      assert.equal(trailers["x-client"], `number ${i}`);
    }));
  },
  async websocket() {
    const messages = ["one", "", "x".repeat(125), "y".repeat(126), "z".repeat(70_000), "€".repeat(100_000), "last"].map((m) => Buffer.from(m));
    const stream = await websocket();
    const got = [];
    await new Promise((resolve, reject) => {
      stream.on("error", reject);
      read(stream, (opcode, data) => {
        if (opcode === 8) { resolve(); return; }
        got.push(data);
        if (got.length === messages.length) stream.write(frame(8, Buffer.from([3, 232]), true));
      });
      for (const m of messages) stream.write(frame(1, m, true));
    });
    assert.deepEqual(got, messages);
    stream.end();
  },
};

let n = 0;
for (const [name, check] of Object.entries(checks)) {
  if (omitted.includes(name)) continue;
  const late = setTimeout(() => { console.error(`${name} gets no response`); process.exit(1); }, 30_000);
  try {
    await check();
  } catch (e) {
    console.error(name, e);
    process.exit(1);
  }
  clearTimeout(late);
  n++;
}
close();
console.log(`passed ${n}`);
