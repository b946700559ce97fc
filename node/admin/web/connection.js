// The header's pill and the banner, which show whether the node responds.

import { clock } from './format.js';

const $ = (id) => document.getElementById(id);
let lost = 0; // when the connection was lost, ms since 1970; 0 while connected

// down shows that the node does not respond.
export function down() {
  if (!lost) lost = Date.now();
  state('lost', 'reconnecting');
  banner(`${location.host} has not responded since ${clock(lost)}. The page reconnects by itself.`, false);
}

// up shows that the node responds.
export function up() {
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
