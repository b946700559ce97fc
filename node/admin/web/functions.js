// Functions shows one card for each function of the node: its state, its message rate and queue, and a button to stop or start it.

import { clock, show } from './format.js';
import { pipelineSteps } from './pipelinesteps.js';

export class Functions {
  constructor(root, none) {
    this.root = root;
    this.none = none;
    this.cards = new Map();
  }

  async load() {
    try {
      const response = await fetch('/api/functions', { cache: 'no-store', signal: AbortSignal.timeout(3000) });
      if (response.ok) this.show(await response.json());
    } catch { /* app.js shows that the node does not respond */ }
  }

  show(list) {
    this.none.hidden = list.length > 0;
    for (const [name, card] of this.cards) {
      if (list.some((f) => f.name === name)) continue;
      card.root.remove();
      this.cards.delete(name);
    }
    for (const f of list) {
      let card = this.cards.get(f.name);
      if (!card) this.cards.set(f.name, card = this.card(f.name));
      card.write(f);
    }
  }

  card(name) {
    const root = document.createElement('article');
    root.className = 'card function';
    root.innerHTML = `<header><h3></h3><span class="class"></span><span class="pill"></span><button type="button"></button></header>
      <dl><dt>Observes</dt><dd><code></code></dd><dt class="where">Where</dt><dd class="where"><code></code></dd>
      <dt>Receives</dt><dd class="rate">–</dd><dt>Queue</dt><dd class="queue">–</dd><dt>Handles</dt><dd class="active">–</dd>
      <dt class="took">Latency</dt><dd class="took"></dd><dt class="failed">Failed</dt><dd class="failed"></dd>
      <dt class="restarts">Restarts</dt><dd class="restarts"></dd><dt class="last">Last error</dt><dd class="last"></dd>
      <dt class="processes">Processes</dt><dd class="processes"></dd>
      <dt class="version">Version</dt><dd class="version"></dd><dt class="instances">Instances</dt><dd class="instances"></dd></dl><div class="pipeline" hidden></div><p class="error" hidden></p>`;
    const find = (s) => root.querySelector(s), button = find('button');
    find('h3').textContent = name;
    let refusal = ''; // why the last click had no effect; shown until the next one
    button.addEventListener('click', async () => {
      button.disabled = true;
      refusal = '';
      try {
        const response = await fetch(`/api/functions/${encodeURIComponent(name)}/${button.dataset.verb}`, { method: 'POST' });
        if (!response.ok) throw new Error(await response.text());
        this.show(await response.json());
      } catch (err) {
        refusal = find('.error').textContent = err.message;
        find('.error').hidden = false;
      }
      button.disabled = false;
    });
    this.root.append(root);
    const write = (f) => {
      const verb = f.running ? 'stop' : 'start', state = f.running ? 'running' : f.error ? 'failed' : 'stopped';
      if (button.dataset.verb !== verb) refusal = '';
      root.dataset.state = state;
      find('.pill').className = `pill ${state}`;
      find('.pill').textContent = state;
      button.dataset.verb = button.className = verb;
      button.textContent = f.running ? 'Stop' : 'Start';
      button.setAttribute('aria-label', `${button.textContent} ${name}`);
      find('.class').textContent = f.kind === 'wasm' ? `wasm, ${f.cpu}` : f.cpu;
      find('dd code').textContent = f.observe.join(', ');
      find('dd.where code').textContent = f.where ?? '';
      for (const e of root.querySelectorAll('.where')) e.hidden = !f.where;
      this.writeCounts(root, f);
      pipelineSteps(find('.pipeline'), f.pipeline);
      find('.error').textContent = refusal || (f.error ?? '');
      find('.error').hidden = !find('.error').textContent;
    };
    return { root, write, rate: find('.rate'), queue: find('.queue'), active: find('.active') };
  }

  // writeCounts shows the failures since the function was started, its restarts and its last error, the processes of a worker, and the guest of a wasm
  // function.
  writeCounts(root, f) {
    const write = (name, text) => put(root, name, text);
    write('.restarts', f.restarts ? show(f.restarts, 'count') : '');
    write('.last', f.last_error && f.last_error !== f.error ? `${clock(Date.parse(f.last_error_at))} ${f.last_error}` : '');
    write('.failed', f.failed ? `${show(f.failed, 'count')} of ${show(f.handled, 'count')}` : '');
    const p = f.processes;
    const ended = p?.died ? `, ${show(p.died, 'count')} messages lost` : '';
    write('.processes', p && f.running ? `${p.ready} of ${p.wanted} running${ended}` : '');
    const g = f.guest;
    write('.version', g ? (g.number ? `${g.number} (${g.version})` : g.version) : '');
    const crashed = g?.crashed ? `, ${show(g.crashed, 'count')} crashed` : '';
    write('.instances', g && f.running ? `${g.instances} with ${show(g.memory, 'bytes')}${crashed}` : '');
  }

  // update shows the rate and the queue of each function's subscription, from the metrics, and what it does with the messages. Latencies are of the time since
  // the scrape oldest.
  update(scrape, before, oldest) {
    for (const [name, card] of this.cards) {
      const [p50, p99] = scrape.quantiles(oldest, 'ferry_function_seconds', [0.5, 0.99], { function: name });
      put(card.root, '.took', p50 == null ? '' : `p50 ${show(p50, 'seconds')}, p99 ${show(p99, 'seconds')}`);
      card.active.textContent = `${show(scrape.sum('ferry_function_active', { function: name }), 'count')} messages now`;
      const labels = { client: name }, subscribed = scrape.samples('ferry_queue_bytes').some((s) => s.labels.client === name);
      const rate = subscribed && before ? scrape.rate(before, 'ferry_delivered_total', labels) : null;
      card.rate.textContent = subscribed ? show(rate, 'rate') : 'no messages while stopped';
      card.queue.textContent = subscribed ? `${show(scrape.sum('ferry_queue_bytes', labels), 'bytes')}, ${show(scrape.sum('ferry_queue_messages', labels), 'count')} messages` : '–';
    }
  }
}

// put shows a text of a card and its title, or neither without a text.
function put(root, name, text) {
  for (const e of root.querySelectorAll(name)) e.hidden = !text;
  root.querySelector(`dd${name}`).textContent = text;
}
