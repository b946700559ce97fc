// StoredStream shows one stream: its figures, its durables and its messages.

import { Chart } from './chart.js';
import { show } from './format.js';
import { storedDurables } from './storeddurables.js';
import { Messages } from './storedmessages.js';
import { tiles } from './tiles.js';

const $ = (id) => document.getElementById(id);

const figures = tiles($('figures'), [
  ['rate', 'Stored', 'rate', '--c1'], ['records', 'Messages', 'count', '--c2'], ['bytes', 'Size', 'bytes', '--c5'],
  ['lag', 'Lag', 'count', '--c3'], ['redelivered', 'Redelivered', 'count', '--c8'], ['dead', 'Dead letters', 'count', '--c6'],
]);
const flow = new Chart($('flow'), { title: 'Messages', unit: 'rate', floor: 10, gap: 3500 });
const lag = new Chart($('lag'), { title: 'Lag by durable', unit: 'count', floor: 10, gap: 3500, empty: 'No durables' });

export class StoredStream {
  constructor(name) {
    this.name = name;
    $('name').textContent = name;
    for (const set of Object.values(figures)) set.clear();
    flow.clear();
    lag.clear();
    this.messages = new Messages(name);
  }

  // update shows the stream at a time; streams are all streams.
  update(t, s, streams) {
    figures.rate(t, s.rate);
    figures.records(t, s.records);
    figures.bytes(t, s.bytes);
    figures.lag(t, s.lag);
    figures.redelivered(t, s.redelivered);
    figures.dead(t, s.deadLetters);
    const put = (line, v, style) => v != null && flow.line(line, style).push(t, v);
    put('stored', s.rate, { color: '--c1', fill: 0.1, order: 0 });
    if (s.durables.length) {
      put('delivered', s.deliveryRate, { color: '--c2', order: 1 });
      put('redelivered', s.redeliveryRate, { color: '--c8', order: 2 });
    }
    for (const d of s.durables) lag.line(d.name, {}).push(t, d.lag);
    this.properties(s, streams);
    storedDurables($('durables'), s.durables);
    $('no-durables').hidden = s.durables.length > 0;
    $('first-durable').textContent = `ferry sub --from first --durable NAME '${s.tags[0]}'`;
    this.messages.update(s);
  }

  // open shows the message with a sequence number.
  open(number) { this.messages.open(number); }

  properties(s, streams) {
    const rows = [
      ['Tags', s.tags.join(', ')], ['Delivery', s.delivery], ['Kept', retention(s.retention)], ['Storage', s.storage],
      ['Numbers', s.records ? `${show(s.first, 'count')} to ${show(s.last, 'count')}` : `next is ${show(s.last + 1, 'count')}`],
    ];
    if (s.dead_letter) rows.push(['Dead letters', s.dead_letter, deadLetterStream(s, streams)]);
    if (s.pending) rows.push(['Waits to be stored', show(s.pending, 'bytes')]);
    if (s.dropped) rows.push(['Not stored', `${show(s.dropped, 'count')} messages, because too many waited`]);
    for (const r of s.replicas) rows.push([r.leader ? 'Leader' : 'Copy', `${r.name}: ${r.current ? 'has all messages' : `lacks ${show(r.behind, 'count')} changes`}`]);
    writeList($('properties'), rows);
  }
}

// deadLetterStream returns the address of the stream that stores the dead letters of s.
function deadLetterStream(s, streams) {
  const found = streams.find((other) => other.name !== s.name && other.tags.some((filter) => matches(filter, s.dead_letter)));
  return found && `#/${encodeURIComponent(found.name)}`;
}

// matches reports whether a filter, with + and #, matches a tag.
function matches(filter, tag) {
  const want = filter.split('/'), have = tag.split('/');
  const all = want[want.length - 1] === '#';
  if (all) want.pop();
  return (all ? have.length >= want.length : have.length === want.length) && want.every((level, i) => level === '+' || level === have[i]);
}

function retention(r) {
  const bounds = [];
  if (r.age) bounds.push(age(r.age));
  if (r.size) bounds.push(show(r.size, 'bytes'));
  if (r.messages) bounds.push(`${show(r.messages, 'count')} messages`);
  if (r.per_tag) bounds.push(r.per_tag === 1 ? 'the last message of each tag' : `the last ${show(r.per_tag, 'count')} messages of each tag`);
  return bounds.length ? bounds.join(', ') : 'without bound';
}

function age(seconds) {
  for (const [size, unit] of [[86400, 'days'], [3600, 'hours'], [60, 'minutes']]) if (seconds >= 2 * size) return `${show(seconds / size, 'count')} ${unit}`;
  return show(seconds, 'seconds');
}

// writeList shows rows, each [term, text] or [term, text, address], in a dl.
function writeList(root, rows) {
  const key = JSON.stringify(rows);
  if (root.dataset.shown === key) return;
  root.dataset.shown = key;
  root.replaceChildren(...rows.map(([term, text, href]) => {
    const pair = document.createElement('div'), dt = document.createElement('dt'), dd = document.createElement('dd');
    dt.textContent = term;
    if (href) {
      const link = document.createElement('a');
      link.href = href;
      link.textContent = text;
      dd.append(link);
    } else {
      dd.textContent = text;
    }
    pair.append(dt, dd);
    return pair;
  }));
}
