// Client of ferry's HTTP listeners (docs/http.md): publish, and subscribe by server-sent events or WebSocket. For browsers and Deno. Node
// imports it from a file, and needs version 22 for WebSocket.
//
//   import { Client } from "http://127.0.0.1:8080/v1/ferry.js";
//   const ferry = new Client("http://127.0.0.1:8080", { token });
//   await ferry.publish("plant/1/temperature", { value: 21.5 });
//   const sub = ferry.subscribe("plant/#", { where: "value > 30" }, (m) => console.log(m.tag, m.payload));
//   sub.close();

/** An error response of the server: status, code and reason. */
export class FerryError extends Error {
  constructor(status, code, reason) {
    super(`ferry: ${reason} (${code}, status ${status})`);
    Object.assign(this, { name: "FerryError", status, code, reason });
  }
}

const wait = (ms, signal) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });

/** Backoff before the n-th attempt to connect again, in milliseconds. */
const backoff = (n, longest) => Math.min(500 * 2 ** n, longest) * (0.5 + Math.random() / 2);

const isFinal = (error) => error instanceof FerryError && error.status < 500 && error.status !== 429;

/**
 * Calls connect(signal, opened) again whenever it has returned or failed, until close() is called on the result, or final(error) is true.
 * connect calls opened when it is connected. longest is the longest wait between two calls, in milliseconds. onState(state, error) hears
 * open, lost and refused.
 */
export function persist(connect, onState, { longest = 15e3, final = isFinal } = {}) {
  const stop = new AbortController();
  (async () => {
    for (let failures = 0; ; failures++) {
      let failure;
      try {
        await connect(stop.signal, () => { failures = 0; onState("open"); });
      } catch (error) {
        failure = error;
      }
      if (stop.signal.aborted) return;
      const refused = failure !== undefined && final(failure);
      onState(refused ? "refused" : "lost", failure);
      if (refused) return;
      await wait(backoff(failures, longest), stop.signal);
      if (stop.signal.aborted) return;
    }
  })();
  return { close: () => stop.abort() };
}

/**
 * Reads the server-sent events of a URL until they end, and calls onEvent({ event, data, id }) for each. It fails if nothing, not even a
 * comment, arrives for idle milliseconds: the node sends one every 15 s.
 */
export async function readEvents(url, { headers, signal, idle = 45e3 }, opened, onEvent) {
  const own = new AbortController();
  signal.addEventListener("abort", () => own.abort(), { once: true, signal: own.signal });
  let watchdog;
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => own.abort(), idle);
  };
  alive();
  try {
    const response = await fetch(url, { headers, signal: own.signal, cache: "no-store" });
    if (!response.ok) throw await refusal(response);
    opened();
    const decoder = new TextDecoder();
    let text = "";
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      text += decoder.decode(value, { stream: true });
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const event = { event: "message" };
        for (const line of text.slice(0, end).split("\n")) {
          const colon = line.indexOf(":");
          if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
        }
        if (event.data !== undefined) onEvent(event);
      }
    }
  } finally {
    clearTimeout(watchdog);
    own.abort();
  }
}

async function refusal(response) {
  const body = await response.json().catch(() => null);
  const e = body?.error;
  return new FerryError(response.status, e?.code ?? "http", e?.reason ?? response.statusText);
}

/** Client of one server. It keeps no connection beside those of its subscriptions. */
export class Client {
  /** address is the listener's, such as "http://127.0.0.1:8080". options: token, a string or a function that returns one. */
  constructor(address, { token } = {}) {
    this.address = String(address).replace(/\/+$/, "");
    this.token = typeof token === "function" ? token : () => token;
  }

  #url(tag, query = {}) {
    const url = new URL(`${this.address}/v1/tags/${encodeURIComponent(tag)}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== "") url.searchParams.set(name, value);
    }
    return url;
  }

  #headers(more) {
    const token = this.token();
    return token ? { ...more, Authorization: `Bearer ${token}` } : more;
  }

  async #post(tag, type, body, { ack, key, id, signal } = {}) {
    const headers = this.#headers({ "Content-Type": type });
    if (ack) headers["Ferry-Ack"] = ack;
    if (key) headers["Ferry-Key"] = key;
    if (id) headers["Idempotency-Key"] = id;
    const response = await fetch(this.#url(tag), { method: "POST", headers, body, signal });
    if (response.ok) return response;
    if (response.status === 422 && type === "application/x-ndjson") return response;
    throw await refusal(response);
  }

  /** Publishes one message: a value, which becomes JSON, or bytes with options.type. ack "stored" waits until it is stored. */
  async publish(tag, value, options = {}) {
    const bytes = value instanceof Uint8Array || value instanceof ArrayBuffer;
    const type = options.type ?? (bytes ? "application/octet-stream" : "application/json");
    await this.#post(tag, type, bytes ? value : JSON.stringify(value), options);
  }

  /** Publishes values as one batch. Returns { published, refused, errors: [{ line, code, reason }] }. */
  async publishAll(tag, values, options = {}) {
    const body = Array.from(values, (v) => JSON.stringify(v)).join("\n");
    return (await this.#post(tag, "application/x-ndjson", body, options)).json();
  }

  /**
   * Calls onMessage({ tag, time, payload | base64, type, id }) for each message of the tags that filter matches, until close(). It connects
   * again after an error, and goes on behind the last message if the tags are stored. options: where, from, group, policy, and
   * via: "events" (default) or "websocket"; onState(state, error) hears open, lost and refused.
   */
  subscribe(filter, options, onMessage) {
    if (typeof options === "function") [options, onMessage] = [{}, options];
    const { via = "events", onState = () => {}, where, from, group, policy } = options;
    if (via === "websocket" && !globalThis.WebSocket) throw new Error('ferry: WebSocket is not available here: use via: "events"');
    const query = { where, from, group, policy };
    const state = { last: "" };
    const deliver = (message) => {
      if (message.id !== undefined) state.last = String(message.id);
      onMessage(message);
    };
    const connect = via === "websocket" ? this.#socket : this.#events;
    return persist((signal, opened) => connect.call(this, filter, query, state, deliver, signal, opened), onState);
  }

  #events(filter, query, state, deliver, signal, opened) {
    const headers = this.#headers({ Accept: "text/event-stream" });
    if (state.last) headers["Last-Event-ID"] = state.last;
    return readEvents(this.#url(filter, query), { headers, signal }, opened, ({ event, data, id }) => {
      if (event !== "message" || signal.aborted) return;
      const message = JSON.parse(data);
      if (id !== undefined) message.id = id;
      deliver(message);
    });
  }

  #socket(filter, query, state, deliver, signal, opened) {
    return new Promise((resolve, reject) => {
      const url = this.#url(filter, { ...query, last_event_id: state.last, access_token: this.token() });
      url.protocol = url.protocol.replace("http", "ws");
      const socket = new WebSocket(url);
      const abort = () => socket.close();
      signal.addEventListener("abort", abort, { once: true });
      socket.onopen = opened;
      socket.onmessage = ({ data }) => { if (!signal.aborted) deliver(JSON.parse(data)); };
      socket.onclose = ({ code, reason }) => {
        signal.removeEventListener("abort", abort);
        if (code === 1008) reject(new FerryError(403, "policy", reason));
        else resolve();
      };
    });
  }
}
