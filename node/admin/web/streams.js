// The dashboard's part for streams: the machine, its messages and its functions. The sensors, averages and alerts are EdgeX
// events from /api/stream. The figures of the node come from /metrics.

import { Chart } from './chart.js';
import { subscribe } from './eventstream.js';
import { clock, show } from './format.js';
import { Functions } from './functions.js';
import { HeavyFunctions } from './heavyfunctions.js';
import { tiles } from './tiles.js';

const $ = (id) => document.getElementById(id);

const charts = {
  cpu: new Chart($('cpu'), { title: 'CPU', unit: 'percent', max: 100, many: 'cores' }),
  memory: new Chart($('memory'), { title: 'Memory in use', unit: 'percent', max: 100 }),
  network: new Chart($('network'), { title: 'Network', unit: 'byterate', floor: 1024 }),
  disk: new Chart($('disk'), { title: 'Disk', unit: 'byterate', floor: 1024 }),
  temperature: new Chart($('temperature'), { title: 'Temperature', unit: 'celsius', floor: 60, many: 'sensors', gap: 3000, empty: 'No temperature sensor found on this machine' }),
  messages: new Chart($('messages'), { title: 'Messages', unit: 'rate', floor: 10, gap: 3500 }),
  bytes: new Chart($('bytes'), { title: 'Bytes', unit: 'byterate', floor: 1024, gap: 3500 }),
  latency: new Chart($('latency'), { title: 'Latency, source to node', unit: 'seconds', log: 1e-5, floor: 1e-3, gap: 3500, empty: 'No messages yet' }),
  queues: new Chart($('queues'), { title: 'Queues', unit: 'bytes', floor: 1024, gap: 3500, empty: 'No subscriptions' }),
};

// The lines of the sensors' charts: [resource, name, color]. Each has a second line for its moving average.
const lines = {
  cpu: [['cpu', 'all cores', '--c1']],
  memory: [['used_percent', 'used', '--c2']],
  network: [['received', 'received', '--c1'], ['sent', 'sent', '--c2']],
  disk: [['read', 'read', '--c1'], ['written', 'written', '--c3']],
};

const figures = tiles($('tiles'), [
  ['in', 'Messages in', 'rate', '--c1'], ['out', 'Messages out', 'rate', '--c2'], ['bytes', 'Bytes in', 'byterate', '--c5'],
  ['p50', 'Latency p50', 'seconds', '--c3'], ['p99', 'Latency p99', 'seconds', '--c6'], ['clients', 'Clients', 'count', '--c4'],
]);

// --- messages of /api/stream

let host = null, skew = Infinity; // skew, ms: this clock minus the node's clock, plus the network delay
const hosts = new Set();

function message(m) {
  const [kind, machine, topic] = m.tag.split('/');
  if (!m.payload || !Array.isArray(m.payload.readings)) return;
  if (kind === 'sensors') {
    skew = Math.min(skew, Date.now() - m.time);
    if (!hosts.has(machine)) addHost(machine);
  }
  const t = m.time + (Number.isFinite(skew) ? skew : 0);
  if (kind === 'alerts') {
    alert(machine, topic, m.payload, t);
  } else if (machine === host && charts[topic]) {
    for (const r of m.payload.readings) reading(kind === 'averages', topic, r.resourceName, t, Number(r.value));
  }
}

function reading(average, topic, resource, t, value) {
  const known = lines[topic]?.find(([name]) => name === resource);
  if (known) {
    const [, name, color] = known;
    const order = lines[topic].indexOf(known);
    const style = average ? { color, width: 2.4, fill: 0.08, label: 'avg', order: order + 0.5 } : { color, width: 1, alpha: 0.55, order };
    charts[topic].line(average ? `average ${name}` : name, style).push(t, value);
  } else if (topic === 'cpu' && !average) {
    charts.cpu.line(resource, { color: '--c2', width: 1, alpha: 0.4, quiet: true }).push(t, value);
  } else if (topic === 'temperature' && !average) {
    charts.temperature.line(resource, { width: 1.5 }).push(t, value);
  }
}

function addHost(name) {
  hosts.add(name);
  host ??= name;
  $('host').textContent = host;
  const select = $('hosts').firstElementChild;
  select.add(new Option(name));
  $('hosts').hidden = hosts.size < 2;
  $('host').hidden = hosts.size > 1;
  select.onchange = () => {
    host = select.value;
    for (const topic of Object.keys(lines).concat('temperature')) charts[topic].clear();
  };
}

let alerts = 0;
function alert(machine, topic, event, t) {
  const r = event.readings[0] ?? {}, item = document.createElement('li');
  const unit = r.units === '%' ? 'percent' : 'count';
  item.className = 'new';
  item.innerHTML = '<time></time><span class="what"></span><span class="value"></span>';
  item.children[0].textContent = clock(t);
  item.children[0].dateTime = new Date(t).toISOString();
  item.children[1].textContent = `${topic} on ${machine}`;
  item.children[1].title = `${event.sourceName} of ${event.deviceName}`;
  item.children[2].textContent = show(Number(r.value), unit);
  const list = $('alert-list');
  list.prepend(item);
  while (list.children.length > 50) list.lastChild.remove();
  $('alert-count').textContent = ++alerts;
  $('alert-empty').hidden = true;
}

// --- metrics of /metrics

const heavy = new HeavyFunctions($('heavy'));
const functions = new Functions($('functions'), $('no-functions'));
const history = []; // scrapes of the last 6 s: rates are over about 2 s, latencies over 6 s
let started = null;

// scraped shows the values of a scrape.
export function scraped(s) {
  const startTime = s.sum('process_start_time_seconds');
  if (started && startTime !== started) history.length = 0;
  started = startTime;
  history.push(s);
  while (history[0].time < s.time - 6000) history.shift();
  heavy.update(s);
  functions.update(s, history.findLast((h) => h.time < s.time - 1500), history[0]);
  figures.clients(s.time, s.sum('ferry_connections'));
  for (const client of new Set(s.samples('ferry_queue_bytes').map(({ labels }) => labels.client))) {
    charts.queues.line(client, {}).push(s.time, s.sum('ferry_queue_bytes', { client }));
  }
  const before = history.findLast((h) => h.time < s.time - 1500);
  if (!before) return;
  const rate = (name, want) => s.rate(before, name, want);
  const put = (chart, name, v) => v != null && charts[chart].line(name, { fill: 0.1 }).push(s.time, v);
  for (const dir of ['in', 'out']) {
    figures[dir](s.time, rate('ferry_messages_total', { dir }));
    put('messages', dir, rate('ferry_messages_total', { dir }));
    put('bytes', dir, rate('ferry_bytes_total', { dir }));
  }
  put('messages', 'dropped', rate('ferry_dropped_total'));
  figures.bytes(s.time, rate('ferry_bytes_total', { dir: 'in' }));
  const [p50, p99] = s.quantiles(history[0], 'ferry_latency_seconds', [0.5, 0.99]);
  figures.p50(s.time, p50);
  figures.p99(s.time, p99);
  if (p50 != null) {
    charts.latency.line('p50', { color: '--c3' }).push(s.time, p50);
    charts.latency.line('p99', { color: '--c6' }).push(s.time, p99);
  }
}

// start subscribes to /api/stream. It calls up when the stream connects and down when it fails.
export function start(up, down) {
  subscribe(['sensors/#', 'averages/#', 'alerts/#'], {
    message,
    up: () => {
      skew = Infinity;
      functions.load();
      up();
    },
    down,
    dropped: (n) => console.info(`${n} messages were dropped: this page reads slower than they arrive`),
  });
  setInterval(() => functions.load(), 3000);
}
