// The dashboard's start: it polls /metrics, shows the parts that the node has (streams, proxy), and shows whether the node
// responds. The page neither shows nor polls a part that the node does not have.

import * as bridges from './bridges.js';
import { setWindow } from './chart.js';
import { down, up } from './connection.js';
import * as links from './links.js';
import { poll, Scrape } from './metrics.js';
import * as proxy from './proxy.js';
import * as streams from './streams.js';

const $ = (id) => document.getElementById(id);

// --- the parts of the node

const metricOf = { // a node exports it if it has the part
  streams: 'ferry_connections', links: 'ferry_forward_connected', bridges: 'ferry_bridge_connected', stored: 'ferry_stream_state_errors_total', proxy: 'ferry_proxy_accept_pauses_total',
};
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
  if (parts.includes('links')) links.refresh();
  if (parts.includes('bridges')) bridges.refresh();
  showFailing(s.sum('ferry_stream_store_failing'));
}

function showParts(found) {
  parts = found;
  for (const e of document.querySelectorAll('[data-part]')) e.hidden = !parts.includes(e.dataset.part);
  if (parts.includes('streams')) streams.start(up, down);
}

// showFailing marks the link to the streams while some are not stored.
function showFailing(streams) {
  $('to-streams').className = streams ? 'bad' : '';
  $('to-streams').textContent = streams ? 'Streams: not storing' : 'Streams';
}

// scrapeFailed runs when a request for /metrics fails. On a node with streams, the event stream detects the loss sooner.
function scrapeFailed() {
  if (!parts?.includes('streams')) down();
}

$('window').addEventListener('click', (e) => {
  const seconds = Number(e.target.dataset.seconds);
  if (!seconds) return;
  setWindow(seconds);
  for (const b of $('window').children) b.setAttribute('aria-pressed', b === e.target);
});

poll('/metrics', scraped, scrapeFailed);
