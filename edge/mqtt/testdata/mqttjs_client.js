// Clients of MQTT.js that check a server: mqttjs_client.js URL [CA]. CA is the file of the certificate that the server's is trusted by.
"use strict";
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const mqtt = require("mqtt");

const PATIENCE = 60_000; // longest wait for an event, in milliseconds
const [url, ca] = process.argv.slice(2);
let version; // 4 (MQTT 3.1.1) or 5

// Queue passes events on in their order.
class Queue {
  events = [];
  waiting = [];

  put(event) {
    const next = this.waiting.shift();
    if (next) next(event);
    else this.events.push(event);
  }

  async take() {
    if (this.events.length > 0) return this.events.shift();
    const late = new Error("no event"); // with the stack of the caller
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(late), PATIENCE);
      this.waiting.push((event) => {
        clearTimeout(timer);
        resolve(event);
      });
    });
  }
}

// Peer is a connection of a client.
class Peer {
  messages = new Queue();
  ends = new Queue();

  static async connect(clientId, { lasting = false, ...options } = {}) {
    const peer = new Peer();
    if (ca) options.ca = readFileSync(ca);
    if (version === 5 && lasting) options.properties = { sessionExpiryInterval: 600 };
    const client = (peer.client = mqtt.connect(url, { clientId, clean: !lasting, protocolVersion: version, reconnectPeriod: 0, ...options }));
    client.on("message", (topic, payload, packet) => peer.messages.put({ topic, payload: payload.toString(), qos: packet.qos, retain: packet.retain, properties: packet.properties }));
    client.on("close", () => peer.ends.put(true));
    peer.present = await new Promise((resolve, reject) => {
      client.on("connect", (connack) => resolve(connack.sessionPresent));
      client.on("error", reject);
    });
    return peer;
  }

  async subscribe(filter, qos, options = {}) {
    const granted = await this.client.subscribeAsync(filter, { qos, ...options });
    assert.deepEqual(granted.map((each) => each.qos), [qos]);
  }

  async publish(topic, payload, options = {}) {
    await this.client.publishAsync(topic, payload, { qos: 1, ...options });
  }

  async want(topic, payload, qos, retain = false) {
    const { properties, ...got } = await this.messages.take();
    assert.deepEqual(got, { topic, payload, qos, retain });
    return properties;
  }

  async close() {
    await this.client.endAsync();
  }

  // cut ends the connection without DISCONNECT.
  async cut() {
    this.client.stream.destroy();
    await this.ends.take();
  }
}

const checks = {
  async qos(root) {
    const [pub, sub] = [await Peer.connect("pub"), await Peer.connect("sub")];
    for (const granted of [0, 1, 2]) {
      await sub.subscribe(`${root}/+`, granted);
      for (const qos of [0, 1, 2]) {
        await pub.publish(`${root}/${qos}`, `${qos} of ${granted}`, { qos });
        await sub.want(`${root}/${qos}`, `${qos} of ${granted}`, Math.min(qos, granted));
      }
    }
    for (const each of [pub, sub]) await each.close();
  },

  async retained(root) {
    const [pub, sub] = [await Peer.connect("pub"), await Peer.connect("sub")];
    for (const topic of ["a", "b"]) await pub.publish(`${root}/${topic}`, topic, { retain: true });
    await pub.publish(`${root}/a`, "", { retain: true });
    await sub.subscribe(`${root}/#`, 1);
    await sub.want(`${root}/b`, "b", 1, true);
    await pub.publish(`${root}/b`, "c", { retain: true });
    await sub.want(`${root}/b`, "c", 1);
    await pub.publish(`${root}/b`, "", { retain: true });
    await sub.want(`${root}/b`, "", 1);
    for (const each of [pub, sub]) await each.close();
  },

  async will(root) {
    const sub = await Peer.connect("sub");
    await sub.subscribe(root, 1);
    await (await Peer.connect("leaves", { will: { topic: root, payload: "left", qos: 1 } })).close();
    await (await Peer.connect("vanishes", { will: { topic: root, payload: "vanished", qos: 1 } })).cut();
    await sub.want(root, "vanished", 1);
    await sub.close();
  },

  async session(root) {
    const pub = await Peer.connect("pub");
    let sub = await Peer.connect("lasting", { lasting: true });
    assert.equal(sub.present, false);
    await sub.subscribe(root, 2);
    await pub.publish(root, "first", { qos: 2 });
    await sub.want(root, "first", 2);
    await sub.cut();
    for (let n = 0; n < 50; n++) await pub.publish(root, String(n), { qos: 1 + (n % 2) });
    sub = await Peer.connect("lasting", { lasting: true });
    assert.equal(sub.present, true);
    const got = { 1: [], 2: [] }; // the client passes a message with QoS 2 on when PUBREL arrives: others may come before it
    while (got[1].length + got[2].length < 50) {
      const { payload, qos } = await sub.messages.take();
      if (payload !== "first") got[qos].push(Number(payload)); // it comes again if PUBREC had not arrived
    }
    const half = Array.from({ length: 25 }, (_, n) => 2 * n);
    assert.deepEqual(got, { 1: half, 2: half.map((n) => n + 1) });
    await sub.close();
    sub = await Peer.connect("lasting");
    assert.equal(sub.present, false);
    for (const each of [pub, sub]) await each.close();
  },

  async shared(root) {
    const pub = await Peer.connect("pub");
    const members = [await Peer.connect("m1"), await Peer.connect("m2")];
    members[1].messages = members[0].messages;
    for (const each of members) await each.subscribe(`$share/group/${root}/#`, 1);
    for (let n = 0; n < 40; n++) await pub.publish(`${root}/${n % 4}`, String(n));
    const got = [];
    while (got.length < 40) got.push(Number((await members[0].messages.take()).payload));
    assert.deepEqual(got.sort((a, b) => a - b), Array.from({ length: 40 }, (_, n) => n));
    for (const each of [pub, ...members]) await each.close();
  },

  async version5(root) {
    if (version !== 5) return;
    const both = await Peer.connect("both");
    await both.subscribe(`${root}/#`, 1, { nl: true });
    const other = await Peer.connect("other", { autoAssignTopicAlias: true });
    await both.publish(`${root}/1`, "own");
    const sent = { contentType: "text/plain", responseTopic: "reply/1", correlationData: Buffer.from([0, 1]), userProperties: { a: ["1", "2"] } };
    for (let n = 0; n < 3; n++) { // the second and third time by an alias
      await other.publish(`${root}/2`, "other", { properties: { ...sent, messageExpiryInterval: 1000 } });
      const { messageExpiryInterval, ...got } = await both.want(`${root}/2`, "other", 1);
      assert.ok(messageExpiryInterval > 0 && messageExpiryInterval <= 1000, messageExpiryInterval);
      assert.deepEqual({ ...got, userProperties: { ...got.userProperties } }, sent);
    }
    for (const each of [both, other]) await each.close();
  },
};

async function main() {
  let count = 0;
  for (version of [4, 5]) {
    for (const [name, check] of Object.entries(checks)) {
      for (const root of ["live", "stored"]) {
        await check(`${root}/${version}/${name}`);
        count++;
      }
    }
  }
  console.log("passed", count);
}

main().catch((err) => {
  console.error(`MQTT ${version}:`, err);
  process.exit(1);
});
