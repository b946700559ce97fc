// Clusters shows one card for each cluster of the proxy, with its endpoints. A cluster with an endpoint that is down, ejected or
// drained is highlighted.

import { show } from './format.js';
import { Table } from './table.js';

// state returns the state of an endpoint, as [text, class].
function state(e) {
  if (e.drained) return ['drained', 'pill stopped'];
  if (!e.healthy) return ['down', 'pill failed'];
  if (e.ejected_for) return [`ejected, ${show(Math.ceil(e.ejected_for), 'count')} s left`, 'pill waiting'];
  return ['up', 'pill running'];
}

// up reports whether the proxy sends requests to an endpoint.
export function up(e) { return !e.drained && e.healthy && !e.ejected_for; }

export class Clusters {
  constructor(root, none) {
    this.root = root;
    this.none = none;
    this.cards = new Map();
  }

  // update shows the clusters that proxyRates returns.
  update(list) {
    this.none.hidden = list.length > 0;
    for (const [name, card] of this.cards) {
      if (list.some((c) => c.name === name)) continue;
      card.root.remove();
      this.cards.delete(name);
    }
    for (const c of list) {
      let card = this.cards.get(c.name);
      if (!card) this.cards.set(c.name, card = this.card(c.name));
      this.write(card, c);
    }
  }

  card(name) {
    const root = document.createElement('article');
    root.className = 'card cluster';
    root.innerHTML = '<header><h4></h4><span class="pill"></span></header><p class="notes"></p>';
    root.querySelector('h4').textContent = name;
    this.root.append(root);
    const table = new Table(root, `Endpoints of ${name}`, ['Endpoint', ['State', 'text state'], 'Active', 'Requests', 'Failures']);
    return { root, table, pill: root.querySelector('.pill'), notes: root.querySelector('.notes') };
  }

  write({ root, table, pill, notes }, c) {
    const all = c.endpoints.length, used = c.endpoints.filter(up).length;
    const down = c.endpoints.some((e) => !e.healthy && !e.drained) || !all;
    root.classList.toggle('down', down);
    root.classList.toggle('ejected', !down && used < all);
    pill.className = `pill ${down ? 'failed' : used < all ? 'waiting' : 'running'}`;
    pill.textContent = all ? `${used} of ${all} up` : 'no endpoints';
    notes.textContent = this.notes(c).join(', ');
    table.body.parentNode.hidden = !all;
    table.write(c.endpoints.map((e) => [
      e.address, state(e), show(e.active, 'count'), show(e.rate, 'rate'), [show(e.failures, 'rate'), e.failures ? 'bad' : ''],
    ]));
  }

  // notes lists what applies to the whole cluster: failed lookups, waiting and refused requests.
  notes(c) {
    const list = [];
    if (!c.endpoints.length) list.push('its names do not resolve');
    if (c.waiting) list.push(`${show(c.waiting, 'count')} requests waiting for a connection`);
    for (const [limit, n] of Object.entries(c.refused)) if (n) list.push(`${show(n, 'count')} refused by limits.${limit} so far`);
    if (c.lookups_failed) list.push(`${show(c.lookups_failed, 'count')} DNS lookups failed so far`);
    return list;
  }
}
