// The durables of a stream: one card each, with a table of its members.

import { show } from './format.js';
import { Table } from './table.js';

const cards = new WeakMap(); // by element

// storedDurables shows durables in root, in their order.
export function storedDurables(root, durables) {
  while (root.children.length > durables.length) root.lastChild.remove();
  durables.forEach((d, i) => {
    const card = root.children[i] ?? add(root);
    write(cards.get(card), d);
  });
}

function add(root) {
  const e = document.createElement('article');
  e.className = 'card cluster durable';
  e.innerHTML = '<header><h4></h4><span class="pill"></span></header><p class="notes"></p><dl class="counts"></dl><div></div>';
  root.append(e);
  const counts = {};
  for (const [id, title] of [['lag', 'Lag'], ['held', 'Held'], ['waiting', 'Wait for redelivery'], ['rate', 'Delivered'], ['redelivered', 'Redelivered'], ['dead', 'Dead letters']]) {
    const item = document.createElement('div'), dt = document.createElement('dt'), dd = document.createElement('dd');
    dt.textContent = title;
    item.append(dt, dd);
    e.querySelector('dl').append(item);
    counts[id] = dd;
  }
  const members = new Table(e.lastChild, 'Members', ['Member', 'Held', 'Bytes held', 'Credit']);
  cards.set(e, { root: e, name: e.querySelector('h4'), pill: e.querySelector('.pill'), notes: e.querySelector('.notes'), counts, members });
  return e;
}

function write(card, d) {
  const put = (e, text, kind = e.className) => {
    if (e.textContent !== text) e.textContent = text;
    if (e.className !== kind) e.className = kind;
  };
  put(card.name, d.name);
  put(card.pill, ...state(d));
  put(card.notes, [d.filter && `tags ${d.filter}`, d.where && `where ${d.where}`, d.error].filter(Boolean).join(' · '), d.error ? 'notes bad' : 'notes soft');
  put(card.counts.lag, show(d.lag, 'count'), d.lag ? 'warn' : '');
  put(card.counts.held, `${show(d.held, 'count')}, ${show(d.held_bytes, 'bytes')}`);
  put(card.counts.waiting, show(d.waiting, 'count'), d.waiting ? 'warn' : '');
  put(card.counts.rate, show(d.deliveryRate, 'rate'));
  put(card.counts.redelivered, show(d.redelivered, 'count'), d.redelivered ? 'warn' : '');
  put(card.counts.dead, show(d.dead_letters, 'count'), d.dead_letters ? 'bad' : '');
  card.members.write(d.members.map((m) => [m.client, show(m.held, 'count'), show(m.held_bytes, 'bytes'), show(m.credit, 'bytes')]));
  card.members.root.hidden = !d.members.length;
}

// state returns whether a durable is served, as [text, class].
function state(d) {
  if (d.error) return ['no progress', 'pill failed'];
  if (d.members.length) return [d.here ? `${show(d.members.length, 'count')} ${d.members.length === 1 ? 'member' : 'members'}` : `waits for ${d.holder}`, d.here ? 'pill running' : 'pill waiting'];
  if (d.holder) return [`served by ${d.holder}`, 'pill running'];
  return ['no members', 'pill stopped'];
}
