// Reads /metrics once a second and parses the Prometheus text format.

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

// Scrape holds the samples of one response of /metrics.
export class Scrape {
  constructor(text, time) {
    this.metrics = parse(text);
    this.time = time;
  }

  samples(name) { return this.metrics.get(name) ?? []; }

  // sum adds up the samples that have the labels of want; others do not matter.
  sum(name, want = {}) {
    let total = 0;
    for (const { labels, value } of this.samples(name)) {
      if (Object.entries(want).every(([k, v]) => labels[k] === v)) total += value;
    }
    return total;
  }

  // rate returns the increase of a counter per second since an earlier scrape; null if the counter was reset.
  rate(before, name, want) {
    const increase = this.sum(name, want) - before.sum(name, want);
    return increase < 0 ? null : increase / ((this.time - before.time) / 1000);
  }

  // quantiles returns the quantiles qs of the values that a histogram counted since an earlier scrape. It has the labels of want.
  quantiles(before, name, qs, want = {}) {
    const of = (scrape) => scrape.samples(`${name}_bucket`).filter((s) => Object.entries(want).every(([k, v]) => s.labels[k] === v));
    const old = new Map(of(before).map((s) => [s.labels.le, s.value]));
    const buckets = of(this)
      .map((s) => ({ le: Number(s.labels.le.replace('Inf', 'Infinity')), n: s.value - (old.get(s.labels.le) ?? 0) }))
      .sort((a, b) => a.le - b.le);
    return quantiles(buckets, qs);
  }
}

// poll requests path once a second, or every 3 s while the page is hidden. It calls seen with the text, or failed.
export function poll(path, seen, failed) {
  const once = async () => {
    const text = await read(path);
    setTimeout(once, document.hidden ? 3000 : 1000);
    if (text == null) failed(); else seen(text);
  };
  once();
}

// read returns the text at path; null if the request fails.
export async function read(path) {
  try {
    const response = await fetch(path, { signal: AbortSignal.timeout(3000), cache: 'no-store' });
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}
