// The dashboard: which parts the node has, and whether it is there. A part that it has not is neither shown nor asked about.

import { setWindow } from './chart.js';
import { clock } from './format.js';
import { poll, Scrape } from './metrics.js';
import * as proxy from './proxy.js';
import * as streams from './streams.js';

const $ = (id) => document.getElementById(id);

// --- what the node has

const told = { streams: 'ferry_connections', proxy: 'ferry_proxy_accept_pauses_total' }; // by a metric of each part
let parts = null;

function scraped(text) {
  const s = new Scrape(text, Date.now());
  const found = Object.keys(told).filter((part) => s.samples(told[part]).length);
  if (!parts) begin(found);
  if (String(found) !== String(parts)) { // another node came in its place
    location.reload();
    return;
  }
  if (parts.includes('streams')) streams.scraped(s); else up();
  if (parts.includes('proxy')) proxy.refresh();
}

function begin(found) {
  parts = found;
  for (const e of document.querySelectorAll('[data-part]')) e.hidden = !parts.includes(e.dataset.part);
  if (parts.includes('streams')) streams.start(up, down);
}

// silent is called when /metrics does not answer. Where there are streams, these tell sooner.
function silent() {
  if (!parts?.includes('streams')) down();
}

// --- whether the node is there

let lost = 0;

function down() {
  if (!lost) lost = Date.now();
  state('lost', 'reconnecting');
  banner(`${location.host} has not answered since ${clock(lost)}. Trying again by itself.`, false);
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

poll('/metrics', scraped, silent);
