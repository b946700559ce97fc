// quantiles returns the quantiles qs of a histogram, such as [0.5, 0.99]. It interpolates within a bucket. A quantile of an empty
// histogram is null. buckets are cumulative {le, n}: n values are at most le. They ascend, and the last le is Infinity.
export function quantiles(buckets, qs) {
  const total = buckets.length ? buckets[buckets.length - 1].n : 0;
  if (total <= 0) return qs.map(() => null);
  return qs.map((q) => {
    const rank = q * total, i = buckets.findIndex((b) => b.n >= rank);
    const low = i > 0 ? buckets[i - 1] : { le: 0, n: 0 };
    if (buckets[i].le === Infinity) return low.le;
    return low.le + (buckets[i].le - low.le) * (rank - low.n) / (buckets[i].n - low.n);
  });
}
