// Rates and sums of the stored streams, from two responses of /api/streams.

// storedRates returns the streams of the newer response with these added: rate, the records stored per second; and the sums of
// their durables. Each durable has the rates of its deliveries. A rate is null if there is no older response, or if the counter
// was reset in between.
export function storedRates(before, now) {
  const seconds = before ? now.now - before.now : 0;
  const rate = (n, old) => (seconds > 0 && n >= (old ?? 0) ? (n - (old ?? 0)) / seconds : null);
  const old = new Map((before?.streams ?? []).map((s) => [s.name, s]));
  return now.streams.map((s) => {
    const was = old.get(s.name), durablesBefore = new Map((was?.durables ?? []).map((d) => [d.name, d]));
    const durables = s.durables.map((d) => {
      const then = durablesBefore.get(d.name);
      return { ...d, deliveryRate: rate(d.delivered, then?.delivered), redeliveryRate: rate(d.redelivered, then?.redelivered) };
    });
    const sum = (get) => durables.reduce((n, d) => (n == null || get(d) == null ? null : n + get(d)), 0);
    return {
      ...s, durables, rate: rate(s.appended, was?.appended), deliveryRate: sum((d) => d.deliveryRate), redeliveryRate: sum((d) => d.redeliveryRate),
      lag: durables.reduce((most, d) => Math.max(most, d.lag), 0), redelivered: sum((d) => d.redelivered), deadLetters: sum((d) => d.dead_letters),
    };
  });
}

// trouble returns what is wrong with a stream, a text for each fault.
export function trouble(s, show) {
  const list = [];
  if (s.error) list.push(`${s.name} does not store: ${s.error}. ${show(s.pending, 'bytes')} wait.`);
  for (const r of s.replicas) if (!r.current) list.push(`${s.name}: the copy on ${r.name} lacks ${show(r.behind, 'count')} changes`);
  for (const d of s.durables) if (d.error) list.push(`${s.name}: durable ${d.name} makes no progress: ${d.error}`);
  return list;
}
