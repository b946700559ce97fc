// The dashboard's part for a proxy: listeners, routes and clusters, in the order that a request passes them. The data comes from
// /api/proxy.

import { Chart } from './chart.js';
import { Clusters, up } from './clusters.js';
import { show } from './format.js';
import { read } from './metrics.js';
import { proxyRates } from './proxyrates.js';
import { Table } from './table.js';
import { tiles } from './tiles.js';

const $ = (id) => document.getElementById(id);
const plot = (id, title, unit, more) => new Chart($(id), { title, unit, gap: 3500, empty: 'No requests yet', ...more });

const charts = {
  responses: plot('proxy-responses', 'Responses', 'rate', { floor: 10 }),
  latency: plot('proxy-latency', 'Latency', 'seconds', { log: 1e-5, floor: 1e-2 }),
  failures: plot('proxy-failures', 'Failures', 'rate', { floor: 1 }),
  connections: plot('proxy-connections', 'Connections', 'count', { floor: 2, empty: 'No connections yet' }),
};

const figures = tiles($('proxy-tiles'), [
  ['requests', 'Requests', 'rate', '--c1'], ['failing', 'Failing', 'percent', '--c6'], ['p50', 'Latency p50', 'seconds', '--c3'],
  ['p99', 'Latency p99', 'seconds', '--c8'], ['connections', 'Connections', 'count', '--c4'], ['endpoints', 'Endpoints up', 'count', '--c5'],
]);

const listeners = new Table($('listeners'), 'Listeners', ['Listener', ['Address', 'text address'], ['Protocol', 'text'], 'Connections', 'Requests', ['Refused', 'wrap']]);
const routes = new Table($('routes'), 'Routes', ['Route', ['Listener', 'text'], 'Requests', 'Failing', 'p50', 'p99', 'Retries']);
const clusters = new Clusters($('clusters'), $('no-clusters'));
const history = []; // responses of /api/proxy; rates and latencies are those of the last 5 s

let refreshing = false;

// refresh reads /api/proxy and shows it. It does nothing while an earlier call still runs.
export async function refresh() {
  if (refreshing) return;
  refreshing = true;
  const text = await read('/api/proxy');
  refreshing = false;
  if (text != null) showResponse(JSON.parse(text), Date.now());
}

function showResponse(now, t) {
  if (history.length && now.now < history[history.length - 1].now) history.length = 0; // the node was restarted
  history.push(now);
  while (history.length > 2 && history[0].now < now.now - 5.5) history.shift();
  const s = proxyRates(history.length > 1 ? history[0] : null, now);
  summary(t, s);
  if (hasRequests(now)) draw(t, s);
  listeners.write(s.listeners.map(listener));
  routes.write(s.routes.map(route));
  clusters.update(s.clusters);
  $('no-requests').hidden = hasRequests(now);
  $('first-request').textContent = s.listeners.length ? firstRequest(s.listeners[0]) : '';
}

function summary(t, s) {
  const endpoints = s.clusters.flatMap((c) => c.endpoints.map((e) => ({ ...e, cluster: c.name }))), used = endpoints.filter(up).length;
  figures.requests(t, s.all.rate);
  figures.failing(t, s.all.failing);
  figures.p50(t, s.all.p50);
  figures.p99(t, s.all.p99);
  figures.connections(t, s.all.connections);
  if (s.clusters.length) figures.endpoints(t, used, [`${used}`, `of ${endpoints.length}`]); else figures.endpoints(t, null);
  mark('failing', s.all.failing >= 1);
  mark('endpoints', used < endpoints.length || s.clusters.some((c) => !c.endpoints.length));
  showProblems(s.clusters.filter((c) => !c.endpoints.length).map((c) => `${c.name} has no endpoints: its names do not resolve`)
    .concat(endpoints.filter((e) => !up(e)).map((e) => `${e.address} of ${e.cluster} ${why(e)}`)));
}

// why returns why an endpoint gets no requests.
function why(e) {
  if (e.drained) return 'is drained: an operator did that';
  const why = e.healthy ? 'is ejected: its requests failed' : 'is down: its health checks fail';
  return e.last_error ? `${why}: ${e.last_error}` : why;
}

// hasRequests reports whether the proxy has received a request since its start.
function hasRequests(now) {
  return now.routes.some((r) => r.took.count) || now.listeners.some((l) => Object.values(l.refused).some((n) => n));
}

const colors = { // of the common status codes; others get one of the remaining colors
  '2xx': '--c1', success: '--c1', '3xx': '--c2', '4xx': '--c3', '5xx': '--c6',
};

function draw(t, s) {
  const put = (chart, name, v, style) => v != null && charts[chart].line(name, style).push(t, v);
  for (const [code, v] of s.codes) put('responses', code.replaceAll('_', ' '), v, { fill: 0.08, order: Number(code[0]) || 0, ...(colors[code] && { color: colors[code] }) });
  put('latency', 'p50', s.all.p50, { color: '--c3' });
  put('latency', 'p99', s.all.p99, { color: '--c8' });
  put('failures', 'failed', s.all.failures, { color: '--c6', fill: 0.1 });
  put('failures', 'refused', s.all.refused, { color: '--c8' });
  put('failures', 'retried', s.all.retries, { color: '--c3' });
  const servers = s.clusters.flatMap((c) => c.endpoints), sum = (list, name) => list.reduce((n, e) => n + e[name], 0);
  put('connections', 'clients', s.all.connections, { color: '--c4', fill: 0.1 });
  put('connections', 'servers', sum(servers, 'connections'), { color: '--c1' });
  put('connections', 'requests in flight', sum(s.clusters, 'active'), { color: '--c2' });
  put('connections', 'waiting', sum(s.clusters, 'waiting'), { color: '--c6' });
}

function mark(tile, bad) { $('proxy-tiles').querySelector(`[data-tile="${tile}"]`).classList.toggle('bad', bad); }

// showProblems lists the endpoints that are not in use, at the top of the page.
function showProblems(list) {
  const few = list.slice(0, 4);
  if (list.length > few.length) few.push(`and ${list.length - few.length} more`);
  const text = few.join('\n');
  if ($('problems').textContent !== text) $('problems').textContent = text;
  $('problems').hidden = !text;
}

function listener(l) {
  const name = (why) => why.replaceAll('_', ' ');
  const now = Object.entries(l.refused).filter(([, v]) => v > 0).map(([why, v]) => `${name(why)} ${show(v, 'rate')}`);
  const past = Object.entries(l.total).filter(([, n]) => n > 0).map(([why, n]) => `${show(n, 'count')} ${name(why)}`);
  const refused = now.length ? [now.join(', '), 'bad'] : past.length ? [`${past.join(', ')} so far`, 'soft'] : 'none';
  return [l.name, l.address, l.protocol, show(l.connections, 'count'), show(l.rate, 'rate'), refused];
}

function route(r) {
  return [
    r.name, [r.listener, 'soft'], show(r.rate, 'rate'), [show(r.failing, 'percent'), r.failing ? 'bad' : ''],
    show(r.p50, 'seconds'), show(r.p99, 'seconds'), [show(r.retries, 'rate'), r.retries ? 'warn' : ''],
  ];
}

// firstRequest returns a command that sends a request to a listener.
function firstRequest(l) {
  if (l.protocol !== 'http1') return `${l.protocol}://${l.address}`;
  if (l.address.startsWith('/')) return `curl --unix-socket ${l.address} http://localhost/`;
  return `curl http://${l.address.replace(/^(0\.0\.0\.0|\[::\])(?=:)/, location.hostname)}/`;
}
