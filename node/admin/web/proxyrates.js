// Rates of the proxy, from two responses of /api/proxy.

import { quantiles } from './quantiles.js';

// proxyRates returns the newer response with its counters as rates since the older one. A rate is null if there is no older
// response, or if the counter was reset in between.
export function proxyRates(before, now) {
  const seconds = before ? now.now - before.now : 0;
  const increase = (n, old = 0) => (seconds > 0 && n >= old ? n - old : null);
  const rate = (n, old) => perSecond(increase(n, old), seconds);
  const routes = pairs(before?.routes, now.routes, (r) => `${r.listener}\n${r.name}`).map(([r, old]) => {
    const took = histogram(r.took, old?.took, increase), requests = increase(r.took.count, old?.took.count), failed = increase(r.failed, old?.failed);
    const [p50, p99] = quantiles(took, [0.5, 0.99]);
    return { ...r, requests, failed, took, rate: perSecond(requests, seconds), failing: share(failed, requests), p50, p99, retries: rate(r.retries, old?.retries) };
  });
  const listeners = pairs(before?.listeners, now.listeners, (l) => l.name).map(([l, old]) => ({
    ...l,
    total: l.refused,
    rate: perSecond(total(routes.filter((r) => r.listener === l.name).map((r) => r.requests)), seconds),
    refused: Object.fromEntries(Object.entries(l.refused).map(([why, n]) => [why, rate(n, old?.refused[why])])),
  }));
  const clusters = pairs(before?.clusters, now.clusters, (c) => c.name).map(([c, old]) => ({
    ...c,
    endpoints: pairs(old?.endpoints, c.endpoints, (e) => e.address).map(([e, was]) => {
      const requests = increase(total(Object.values(e.requests)), was && total(Object.values(was.requests)));
      return { ...e, rate: perSecond(requests, seconds), failures: rate(e.failed, was?.failed) };
    }),
  }));
  return { listeners, routes, clusters, all: sum(routes, listeners, seconds), codes: codes(before?.routes ?? [], now.routes, rate) };
}

// sum adds up all routes and listeners.
function sum(routes, listeners, seconds) {
  const add = (get) => total(routes.map(get));
  const requests = add((r) => r.requests), failed = add((r) => r.failed);
  const took = (routes[0]?.took ?? []).map(({ le }, i) => ({ le, n: add((r) => r.took[i].n) }));
  const [p50, p99] = quantiles(took, [0.5, 0.99]);
  return {
    rate: perSecond(requests, seconds), failures: perSecond(failed, seconds), failing: share(failed, requests), p50, p99,
    retries: add((r) => r.retries),
    refused: total(listeners.flatMap((l) => Object.values(l.refused))),
    connections: total(listeners.map((l) => l.connections)),
  };
}

// codes returns the responses per second of each status code.
function codes(before, now, rate) {
  const add = (routes) => {
    const sums = {};
    for (const r of routes) for (const [code, n] of Object.entries(r.requests)) sums[code] = (sums[code] ?? 0) + n;
    return sums;
  };
  const old = add(before);
  return Object.entries(add(now)).map(([code, n]) => [code, rate(n, old[code])]);
}

// pairs returns [new, old] for each element of now; old is the element of before with the same key, or undefined.
function pairs(before, now, key) {
  const old = new Map((before ?? []).map((e) => [key(e), e]));
  return now.map((e) => [e, old.get(key(e))]);
}

// histogram returns the increase of each bucket of a histogram: [{le, n}].
function histogram(now, old, increase) {
  const buckets = now.buckets.map((b, i) => ({ le: b.up_to, n: increase(b.count, old?.buckets[i].count) }));
  return [...buckets, { le: Infinity, n: increase(now.count, old?.count) }];
}

// total adds up list; null if one of its elements is null.
function total(list) {
  return list.reduce((a, b) => (a == null || b == null ? null : a + b), 0);
}

function perSecond(n, seconds) { return n == null || !seconds ? null : n / seconds; }

function share(part, whole) { return whole ? part / whole * 100 : null; }
