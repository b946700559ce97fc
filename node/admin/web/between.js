// between is what the proxy did between two answers of /api/proxy: what it holds now, and its counters as rates. A rate is null
// while there is no answer before, and where a counter started anew in between.

import { quantiles } from './quantiles.js';

export function between(before, now) {
  const seconds = before ? now.now - before.now : 0;
  const grown = (n, old = 0) => (seconds > 0 && n >= old ? n - old : null);
  const rate = (n, old) => perSecond(grown(n, old), seconds);
  const routes = pairs(before?.routes, now.routes, (r) => `${r.listener}\n${r.name}`).map(([r, old]) => {
    const took = histogram(r.took, old?.took, grown), requests = grown(r.took.count, old?.took.count), failed = grown(r.failed, old?.failed);
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
      const requests = grown(total(Object.values(e.requests)), was && total(Object.values(was.requests)));
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

// codes returns how many answers of each code there were a second.
function codes(before, now, rate) {
  const add = (routes) => {
    const sums = {};
    for (const r of routes) for (const [code, n] of Object.entries(r.requests)) sums[code] = (sums[code] ?? 0) + n;
    return sums;
  };
  const old = add(before);
  return Object.entries(add(now)).map(([code, n]) => [code, rate(n, old[code])]);
}

// pairs returns each member of now with the one of before that has the same key, if there is one.
function pairs(before, now, key) {
  const old = new Map((before ?? []).map((e) => [key(e), e]));
  return now.map((e) => [e, old.get(key(e))]);
}

function histogram(now, old, grown) {
  const buckets = now.buckets.map((b, i) => ({ le: b.up_to, n: grown(b.count, old?.buckets[i].count) }));
  return [...buckets, { le: Infinity, n: grown(now.count, old?.count) }];
}

function total(list) {
  return list.reduce((a, b) => (a == null || b == null ? null : a + b), 0);
}

function perSecond(n, seconds) { return n == null || !seconds ? null : n / seconds; }

function share(part, whole) { return whole ? part / whole * 100 : null; }
