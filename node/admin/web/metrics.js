// Metrics reads /metrics, the text Prometheus reads too, once a second.

import { quantiles } from './quantiles.js';

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const escapes = { n: '\n', '"': '"', '\\': '\\' };

// parse returns the samples of each metric: Map of name to [{labels, value}].
export function parse(text) {
  const metrics = new Map();
  for (const row of text.split('\n')) {
    if (!row.startsWith('ferry_') && !row.startsWith('process_start')) continue;
    const m = line.exec(row);
    if (!m) continue;
    const labels = {};
    if (m[2]) for (const [, k, v] of m[2].matchAll(label)) labels[k] = v.replace(/\\(.)/g, (_, c) => escapes[c] ?? c);
    let list = metrics.get(m[1]);
    if (!list) metrics.set(m[1], list = []);
    list.push({ labels, value: Number(m[3].replace('Inf', 'Infinity')) });
  }
  return metrics;
}

// Scrape is one reading of /metrics at one time.
export class Scrape {
  constructor(text, time) {
    this.metrics = parse(text);
    this.time = time;
  }

  samples(name) { return this.metrics.get(name) ?? []; }

  // sum adds up the samples whose labels are all those of want.
  sum(name, want = {}) {
    let total = 0;
    for (const { labels, value } of this.samples(name)) {
      if (Object.entries(want).every(([k, v]) => labels[k] === v)) total += value;
    }
    return total;
  }

  // rate returns how much a counter grew a second since before; null if it started anew.
  rate(before, name, want) {
    const grown = this.sum(name, want) - before.sum(name, want);
    return grown < 0 ? null : grown / ((this.time - before.time) / 1000);
  }

  // quantiles returns, for each q, the value below which that share of what a histogram counted since before lies.
  quantiles(before, name, qs) {
    const old = new Map(before.samples(`${name}_bucket`).map((s) => [s.labels.le, s.value]));
    const buckets = this.samples(`${name}_bucket`)
      .map((s) => ({ le: Number(s.labels.le.replace('Inf', 'Infinity')), n: s.value - (old.get(s.labels.le) ?? 0) }))
      .sort((a, b) => a.le - b.le);
    return quantiles(buckets, qs);
  }
}

// poll calls seen with the text at path, once a second, and failed when there was no answer.
export function poll(path, seen, failed) {
  const once = async () => {
    const text = await read(path);
    setTimeout(once, document.hidden ? 3000 : 1000);
    if (text == null) failed(); else seen(text);
  };
  once();
}

// read returns the text at path; null if there was no answer.
export async function read(path) {
  try {
    const answer = await fetch(path, { signal: AbortSignal.timeout(3000), cache: 'no-store' });
    return answer.ok ? await answer.text() : null;
  } catch {
    return null;
  }
}
