// The dashboard's start: it polls /metrics, shows the parts that the node has (streams, proxy), and shows whether the node
// responds. The page neither shows nor polls a part that the node does not have.

import { setWindow } from './chart.js';
import { clock } from './format.js';
import { poll, Scrape } from './metrics.js';
import * as proxy from './proxy.js';
import * as streams from './streams.js';

const $ = (id) => document.getElementById(id);

// --- the parts of the node

const metricOf = { streams: 'ferry_connections', proxy: 'ferry_proxy_accept_pauses_total' }; // a node exports it if it has the part
let parts = null;

function scraped(text) {
  const s = new Scrape(text, Date.now());
  const found = Object.keys(metricOf).filter((part) => s.samples(metricOf[part]).length);
  if (!parts) showParts(found);
  if (String(found) !== String(parts)) { // a node with other parts runs at this address now
    location.reload();
    return;
  }
  if (parts.includes('streams')) streams.scraped(s); else up();
  if (parts.includes('proxy')) proxy.refresh();
}

function showParts(found) {
  parts = found;
  for (const e of document.querySelectorAll('[data-part]')) e.hidden = !parts.includes(e.dataset.part);
  if (parts.includes('streams')) streams.start(up, down);
}

// scrapeFailed runs when a request for /metrics fails. On a node with streams, the event stream detects the loss sooner.
function scrapeFailed() {
  if (!parts?.includes('streams')) down();
}

// --- the connection to the node

let lost = 0; // when the connection was lost, ms since 1970; 0 while connected

function down() {
  if (!lost) lost = Date.now();
  state('lost', 'reconnecting');
  banner(`${location.host} has not responded since ${clock(lost)}. The page reconnects by itself.`, false);
}

function up() {
  state('live', 'live');
  if (!lost) return;
  banner(`Connected again after ${Math.max(1, Math.round((Date.now() - lost) / 1000))} s.`, true);
  lost = 0;
  setTimeout(() => { if (!lost) $('banner').hidden = true; }, 5000);
}

function state(kind, text) {
  if ($('state').textContent === text) return;
  $('state').className = `pill ${kind}`;
  $('state').textContent = text;
}

function banner(text, good) {
  $('banner').className = good ? 'banner good' : 'banner';
  $('banner').textContent = text;
  $('banner').hidden = false;
}

$('window').addEventListener('click', (e) => {
  const seconds = Number(e.target.dataset.seconds);
  if (!seconds) return;
  setWindow(seconds);
  for (const b of $('window').children) b.setAttribute('aria-pressed', b === e.target);
});

poll('/metrics', scraped, scrapeFailed);
