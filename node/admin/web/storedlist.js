// The list of streams.

import { show } from './format.js';
import { Table } from './table.js';

const $ = (id) => document.getElementById(id);
let table = null;

const titles = ['Stream', ['Tags', 'text wrap'], ['Delivery', 'text'], 'Stored', 'Messages', 'Size', 'Durables', 'Lag', 'Redelivered', 'Dead letters', 'Copies', ['State', 'text state']];

// storedList shows the streams that storedRates returns.
export function storedList(engine, streams) {
  $('engine').textContent = describe(engine);
  $('no-streams').hidden = streams.length > 0;
  $('streams').parentElement.hidden = !streams.length;
  table ??= new Table($('streams'), 'Streams', titles);
  table.write(streams.map(row));
}

function row(s) {
  return [
    [s.name, '', `#/${encodeURIComponent(s.name)}`], [s.tags.join(', '), 'soft'], s.delivery, show(s.rate, 'rate'), show(s.records, 'count'), show(s.bytes, 'bytes'),
    show(s.durables.length, 'count'), [show(s.lag, 'count'), s.lag ? 'warn' : ''], [show(s.redelivered, 'count'), s.redeliveryRate ? 'warn' : ''],
    [show(s.deadLetters, 'count'), s.deadLetters ? 'bad' : ''], copies(s), state(s),
  ];
}

function copies(s) {
  if (!s.replicas.length) return '1';
  const current = s.replicas.filter((r) => r.current).length;
  return [`${current} of ${s.replicas.length}`, current < s.replicas.length ? 'warn' : ''];
}

// state returns whether a stream stores, as [text, class].
export function state(s) {
  if (s.error) return ['not storing', 'pill failed'];
  if (s.dropped) return [`${show(s.dropped, 'count')} dropped`, 'pill waiting'];
  return ['storing', 'pill running'];
}

const syncs = {
  always: 'on the disk before it is acknowledged', never: 'in memory only: gone when the process ends', unknown: 'the engine does not say when it is on the disk',
};

// describe returns a sentence about the engine.
export function describe(e) {
  const when = e.sync === 'interval' ? `on the disk within ${show(e.interval, 'seconds')}` : syncs[e.sync] ?? e.sync;
  return `Engine ${e.address || e.name}: a stored message is ${when}`.replace('a stored message is the engine does', 'the engine does');
}
