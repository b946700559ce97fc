// The start of the page of streams: it polls /api/streams and shows the list, or the stream that the address names: #/NAME, or
// #/NAME/NUMBER for a message of it.

import { setWindow } from './chart.js';
import { down, up } from './connection.js';
import { show } from './format.js';
import { poll } from './metrics.js';
import { storedList } from './storedlist.js';
import { storedRates, trouble } from './storedrates.js';
import { StoredStream } from './storedstream.js';

const $ = (id) => document.getElementById(id);
const history = []; // responses of /api/streams; rates are those of the last 5 s
let streams = null; // the newest response with its rates
let shown = null; // the StoredStream of the address

function received(text) {
  up();
  const now = JSON.parse(text);
  if (history.length && now.now < history[history.length - 1].now) history.length = 0; // the node was restarted
  history.push(now);
  while (history.length > 2 && history[0].now < now.now - 5.5) history.shift();
  streams = storedRates(history.length > 1 ? history[0] : null, now);
  write(Date.now());
}

function write(t) {
  const [name] = address();
  const found = streams.find((s) => s.name === name);
  $('list').hidden = Boolean(name);
  $('stream').hidden = !found;
  $('window').hidden = !found;
  $('unknown').hidden = !name || Boolean(found);
  $('unknown-name').textContent = name;
  showProblems((found ? [found] : streams).flatMap((s) => trouble(s, show)));
  if (!name) storedList(history[history.length - 1].engine, streams);
  if (found) {
    if (shown?.name !== name) shown = new StoredStream(name);
    shown.update(t, found, streams);
  }
}

function address() {
  const [, name = '', number = ''] = location.hash.split('/');
  return [decodeURIComponent(name), Number(number) || 0];
}

function navigate() {
  const [name, number] = address();
  document.title = `${name || 'Streams'} · ferry`;
  if (shown?.name !== name) shown = null;
  if (streams) write(Date.now());
  if (number && shown) shown.open(number);
}

function showProblems(list) {
  const few = list.slice(0, 4);
  if (list.length > few.length) few.push(`and ${list.length - few.length} more`);
  const text = few.join('\n');
  if ($('problems').textContent !== text) $('problems').textContent = text;
  $('problems').hidden = !text;
}

$('window').addEventListener('click', (e) => {
  const seconds = Number(e.target.dataset.seconds);
  if (!seconds) return;
  setWindow(seconds);
  for (const b of $('window').children) b.setAttribute('aria-pressed', b === e.target);
});
$('skip').addEventListener('click', (e) => { // the address names the stream: it must not become #shown
  e.preventDefault();
  $('shown').focus();
});
addEventListener('hashchange', () => {
  navigate();
  scrollTo(0, 0);
  $('shown').focus({ preventScroll: true });
});
let first = true;
poll('/api/streams', (text) => {
  received(text);
  if (first) navigate();
  first = false;
}, down);
