// Series holds the points of one line of a chart. Times are in milliseconds and increase.

const keep = 310e3; // ms: the longest window that the page offers, and 10 s more

export class Series {
  constructor(name, style = {}) {
    this.name = name;
    this.style = style; // color: a CSS variable; width, alpha, fill; quiet: not in the legend
    this.times = [];
    this.values = [];
  }

  push(t, v) {
    const n = this.times.length;
    if (!Number.isFinite(v) || (n && t <= this.times[n - 1])) return;
    this.times.push(t);
    this.values.push(v);
    if (n % 500 === 499) { // drop points older than the longest window, every 500 points
      const first = this.at(t - keep);
      if (first > 0) {
        this.times.splice(0, first);
        this.values.splice(0, first);
      }
    }
  }

  clear() {
    this.times = [];
    this.values = [];
  }

  // at returns the index of the first point at or after t.
  at(t) {
    let low = 0, high = this.times.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.times[mid] < t) low = mid + 1; else high = mid;
    }
    return low;
  }

  // near returns the value closest to t, if one lies within gap of it.
  near(t, gap) {
    const i = this.at(t);
    let best = null, distance = gap;
    for (const j of [i - 1, i]) {
      const d = Math.abs(this.times[j] - t);
      if (d <= distance) { best = this.values[j]; distance = d; }
    }
    return best;
  }

  get last() { return this.values[this.values.length - 1]; }
  get lastTime() { return this.times[this.times.length - 1] ?? -Infinity; }
}
