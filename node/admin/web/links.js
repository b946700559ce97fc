// Links shows one row for each link to another node: whether it is connected, what it has forwarded, and what waits.

import { show } from './format.js';
import { read } from './metrics.js';
import { Table } from './table.js';

const $ = (id) => document.getElementById(id);

let table = null, before = null;

// refresh reads /api/links and shows it.
export async function refresh() {
  const text = await read('/api/links');
  if (text == null) return; // app.js shows that the node does not respond
  write(JSON.parse(text), Date.now());
}

function write(links, now) {
  table ??= new Table($('links'), 'Links to other nodes', ['Link', ['Node', 'text'], ['State', 'text state'], 'Forwarded', 'Rate', 'In memory', 'On disk', 'Not taken']);
  table.write(links.map((l) => row(l, before?.links.get(l.name), before && (now - before.now) / 1000)));
  const failing = links.filter((l) => !l.connected || l.spoolError);
  $('link-problems').hidden = !failing.length;
  $('link-problems').textContent = failing.map((l) => `${l.name}: ${l.connected ? l.spoolError : l.error}`).join('\n');
  before = { now, links: new Map(links.map((l) => [l.name, l])) };
}

function row(l, old, seconds) {
  const state = !l.connected ? ['down', 'text state bad'] : l.spooling ? ['catching up', 'text state warn'] : ['connected', 'text state'];
  const rate = old && l.forwarded >= old.forwarded ? (l.forwarded - old.forwarded) / seconds : null;
  const lost = l.refused + Object.values(l.dropped ?? {}).reduce((sum, n) => sum + n, 0);
  const disk = l.spoolRecords ? `${show(l.spoolBytes, 'bytes')} of ${show(l.spoolMax, 'bytes')}` : '–';
  return [l.name, [l.node || '–', 'text'], state, show(l.forwarded, 'count'), show(rate, 'rate'), show(l.memoryBytes, 'bytes'), disk, [show(lost, 'count'), lost ? 'bad' : '']];
}
