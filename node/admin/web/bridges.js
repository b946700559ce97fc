// Bridges shows one row for each bridge to another MQTT broker: whether it is connected, what has passed it, and what waits.

import { show } from './format.js';
import { read } from './metrics.js';
import { Table } from './table.js';

const $ = (id) => document.getElementById(id);

let table = null, before = null;

// refresh reads /api/bridges and shows it.
export async function refresh() {
  const text = await read('/api/bridges');
  if (text == null) return; // app.js shows that the node does not respond
  write(JSON.parse(text), Date.now());
}

function write(bridges, now) {
  table ??= new Table($('bridges'), 'Bridges to MQTT brokers', ['Bridge', ['State', 'text state'], 'Sent', 'Rate', 'Received', 'Rate', 'In memory', 'On disk', 'Not taken']);
  table.write(bridges.map((b) => row(b, before?.bridges.get(b.name), before && (now - before.now) / 1000)));
  const failing = bridges.filter((b) => !b.connected || b.spoolError);
  $('bridge-problems').hidden = !failing.length;
  $('bridge-problems').textContent = failing.map((b) => `${b.name}: ${b.connected ? b.spoolError : b.error}`).join('\n');
  before = { now, bridges: new Map(bridges.map((b) => [b.name, b])) };
}

function row(b, old, seconds) {
  const state = !b.connected ? ['down', 'text state bad'] : b.spooling ? ['catching up', 'text state warn'] : ['connected', 'text state'];
  const rate = (count) => show(old && b[count] >= old[count] ? (b[count] - old[count]) / seconds : null, 'rate');
  const lost = b.refused + Object.values(b.dropped ?? {}).reduce((sum, n) => sum + n, 0);
  const disk = b.spoolRecords ? `${show(b.spoolBytes, 'bytes')} of ${show(b.spoolMax, 'bytes')}` : '–';
  return [b.name, state, show(b.sent, 'count'), rate('sent'), show(b.received, 'count'), rate('received'), show(b.memoryBytes, 'bytes'), disk, [show(lost, 'count'), lost ? 'bad' : '']];
}
