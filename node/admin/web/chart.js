// Chart draws time series on a canvas. Its legend shows the newest values, or the values at the pointer. The arrow keys move the
// pointer too.

import { show, tick } from './format.js';
import { Series } from './timeseries.js';

const charts = new Set();
const view = { seconds: 60, opened: Date.now() };

// setWindow sets how many seconds all charts show.
export function setWindow(seconds) { view.seconds = seconds; }

// span returns how many seconds the charts show now. After the page opens it grows from 10 s to the chosen window.
function span(now) { return Math.min(view.seconds, Math.max(10, (now - view.opened) / 1000)); }

const colors = new Map();
function color(name) {
  if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return colors.get(name);
}
addEventListener('themechange', () => colors.clear());

export class Chart {
  // options: title; unit, of format.js; min, the bottom of the scale; max, its fixed top; floor, the least top; log, the bottom
  // of a logarithmic scale; gap, in ms: the line breaks between points further apart; empty, the text shown without data; many,
  // the plural noun for series that share a legend row; spark: no axes and no legend.
  constructor(root, options) {
    Object.assign(this, { min: 0, gap: 1000, empty: 'Waiting for data', ...options });
    this.series = new Map();
    this.root = root;
    this.build();
    this.visible = true;
    new IntersectionObserver((entries) => { this.visible = entries[entries.length - 1].isIntersecting; }, { rootMargin: '100px' }).observe(root);
    charts.add(this);
  }

  build() {
    this.canvas = document.createElement('canvas');
    if (this.spark) {
      this.canvas.setAttribute('aria-hidden', 'true');
      this.root.append(this.canvas);
      return;
    }
    const figure = document.createElement('figure');
    figure.className = 'chart';
    figure.innerHTML = '<figcaption><h3></h3><ul class="legend"></ul></figcaption><div class="plot"><span class="ago" hidden></span><p class="empty"></p></div>';
    figure.querySelector('h3').textContent = this.title;
    this.legend = figure.querySelector('ul');
    this.note = figure.querySelector('.empty');
    this.ago = figure.querySelector('.ago');
    this.note.textContent = this.empty;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', this.title);
    figure.querySelector('.plot').prepend(this.canvas);
    this.root.replaceChildren(figure);
    this.listen();
  }

  listen() {
    const c = this.canvas;
    const move = (e) => { this.cursor = (e.clientX - c.getBoundingClientRect().left) / c.clientWidth; this.draw(); };
    const leave = () => { this.cursor = null; this.draw(); };
    c.addEventListener('pointermove', move);
    c.addEventListener('pointerdown', move);
    c.addEventListener('pointerleave', leave);
    c.addEventListener('blur', leave);
    c.addEventListener('keydown', (e) => {
      const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[e.key];
      if (step) {
        this.cursor = Math.min(1, Math.max(0, (this.cursor ?? 1) + step));
        e.preventDefault();
      } else if (e.key === 'Escape') {
        this.cursor = null;
      } else {
        return;
      }
      this.draw();
      this.describe();
    });
  }

  // line returns the series with a name. It creates the series with style if there is none.
  line(name, style) {
    let s = this.series.get(name);
    if (!s) {
      s = new Series(name, { color: `--c${this.series.size % 8 + 1}`, width: 2, alpha: 1, ...style });
      this.series.set(name, s);
    }
    return s;
  }

  clear() { this.series.clear(); }

  // top returns the top of the scale: max, or the next round number above the values shown.
  top(from) {
    if (this.max) return this.max;
    let high = 0;
    for (const s of this.series.values()) {
      for (let i = s.at(from); i < s.values.length; i++) if (s.values[i] > high) high = s.values[i];
    }
    return ceiling(Math.max(high * 1.05, this.floor ?? 1), /^byte/.test(this.unit));
  }

  draw(now = Date.now()) {
    const c = this.canvas, width = c.clientWidth, height = c.clientHeight;
    if (!width || !height) return;
    const scale = devicePixelRatio || 1;
    if (c.width !== Math.round(width * scale) || c.height !== Math.round(height * scale)) {
      c.width = Math.round(width * scale);
      c.height = Math.round(height * scale);
    }
    const g = c.getContext('2d');
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, width, height);
    const from = now - span(now) * 1000, top = this.top(from);
    const below = this.spark ? 1 : 18, above = this.spark ? 3 : 16;
    const x = (t) => (t - from) / (now - from) * width;
    const share = this.log
      ? (v) => Math.max(0, Math.log10(Math.max(v, 1e-12) / this.log) / Math.log10(top / this.log))
      : (v) => (v - this.min) / (top - this.min);
    const y = (v) => above + (height - above - below) * (1 - Math.min(1, share(v)));
    const axes = !this.spark && this.series.size > 0;
    if (axes) this.grid(g, width, top, y);
    g.save();
    g.beginPath();
    g.rect(0, 0, width, height - below + 1);
    g.clip();
    for (const s of this.series.values()) this.stroke(g, s, from, x, y, height - below);
    g.restore();
    if (axes) this.scales(g, width, height, top, y, span(now));
    if (!this.spark) this.readOut(g, now, from, x, y, height - below, width);
  }

  grid(g, width, top, y) {
    g.lineWidth = 1;
    g.strokeStyle = color('--grid');
    for (const v of this.ticks(top)) {
      const at = Math.round(y(v)) + 0.5;
      g.beginPath();
      g.moveTo(0, at);
      g.lineTo(width, at);
      g.stroke();
    }
  }

  // scales writes the labels of both axes over the lines, with an outline that keeps them readable.
  scales(g, width, height, top, y, seconds) {
    g.font = '11px system-ui, sans-serif';
    g.fillStyle = color('--soft');
    g.strokeStyle = color('--card');
    g.lineWidth = 3;
    const write = (text, x, at, align) => {
      g.textAlign = align;
      g.strokeText(text, x, at);
      g.fillText(text, x, at);
    };
    for (const v of this.ticks(top)) write(tick(v, this.unit), 2, Math.round(y(v)) - 4, 'left');
    const label = (n) => (n >= 120 ? `${Math.round(n / 6) / 10} min ago` : `${Math.round(n)} s ago`);
    write(label(seconds), 2, height - 4, 'left');
    write(label(seconds / 2), width / 2, height - 4, 'center');
    write('now', width - 2, height - 4, 'right');
  }

  ticks(top) {
    if (!this.log) return [0, 1, 2, 3, 4].map((i) => this.min + (top - this.min) * i / 4).filter((_, i) => i % 2 === 0 || this.canvas.clientHeight > 190);
    const list = [];
    for (let v = this.log; v <= top * 1.01; v *= 10) list.push(v);
    return list;
  }

  stroke(g, s, from, x, y, bottom) {
    let i = Math.max(0, s.at(from) - 1);
    if (i >= s.times.length) return;
    g.strokeStyle = g.fillStyle = color(s.style.color);
    g.lineWidth = s.style.width;
    g.lineJoin = 'round';
    g.beginPath();
    let start = x(s.times[i]), end = start;
    const fill = () => {
      if (!s.style.fill) return;
      g.lineTo(end, bottom);
      g.lineTo(start, bottom);
      g.globalAlpha = s.style.fill;
      g.fill();
    };
    for (let previous = -Infinity; i < s.times.length; i++) {
      const t = s.times[i], px = x(t), py = y(s.values[i]);
      if (t - previous > this.gap) {
        g.globalAlpha = s.style.alpha;
        g.stroke();
        if (previous > 0) fill();
        g.beginPath();
        g.moveTo(px, py);
        start = px;
      } else {
        g.lineTo(px, py);
      }
      end = px;
      previous = t;
    }
    g.globalAlpha = s.style.alpha;
    g.stroke();
    fill();
    g.globalAlpha = 1;
  }

  // readOut updates the legend and marks the values at the pointer.
  readOut(g, now, from, x, y, bottom, width) {
    const reading = this.cursor != null;
    const t = reading ? from + this.cursor * (now - from) : now;
    const rows = [];
    const quiet = [];
    for (const s of [...this.series.values()].sort((a, b) => (a.style.order ?? 0) - (b.style.order ?? 0))) {
      const v = reading ? s.near(t, this.gap * 1.5) : s.last;
      const stale = !reading && now - s.lastTime > Math.max(3000, this.gap * 2);
      if (stale && now - s.lastTime > span(now) * 1000) continue;
      if (reading && v != null) {
        g.fillStyle = color(s.style.color);
        g.beginPath();
        g.arc(this.cursor * width, y(v), s.style.quiet ? 2 : 3.5, 0, 7);
        g.fill();
      }
      if (s.style.quiet) {
        if (v != null) quiet.push(v);
      } else {
        rows.push([s.style.label ?? s.name, s.style, stale ? 'stopped' : show(v, this.unit), stale]);
      }
    }
    if (quiet.length > 1) rows.push([`${quiet.length} ${this.many}`, [...this.series.values()].find((s) => s.style.quiet).style, `${show(Math.min(...quiet), this.unit)} to ${show(Math.max(...quiet), this.unit)}`, false]);
    if (reading) {
      g.strokeStyle = color('--soft');
      g.lineWidth = 1;
      g.globalAlpha = 0.6;
      g.beginPath();
      g.moveTo(Math.round(this.cursor * width) + 0.5, 0);
      g.lineTo(Math.round(this.cursor * width) + 0.5, bottom);
      g.stroke();
      g.globalAlpha = 1;
    }
    this.ago.hidden = !reading;
    this.ago.textContent = `${((now - t) / 1000).toFixed(1)} s ago`;
    this.note.hidden = rows.length > 0;
    this.writeLegend(rows);
  }

  writeLegend(rows) {
    while (this.legend.children.length > rows.length) this.legend.lastChild.remove();
    rows.forEach(([name, style, value, stale], i) => {
      let li = this.legend.children[i];
      if (!li) {
        li = document.createElement('li');
        li.append(document.createElement('i'), document.createElement('span'), document.createElement('b'));
        this.legend.append(li);
      }
      const [mark, label, number] = li.children;
      li.className = stale ? 'stale' : '';
      mark.style.background = color(style.color);
      mark.style.opacity = style.alpha;
      if (label.textContent !== name) label.textContent = name;
      if (number.textContent !== value) number.textContent = value;
    });
  }

  // describe updates the label for screen readers from the legend.
  describe() {
    if (this.spark) return;
    const items = [...this.legend.children].map((li) => `${li.children[1].textContent} ${li.children[2].textContent}`);
    this.canvas.setAttribute('aria-label', `${this.title}: ${items.join(', ') || this.note.textContent}`);
  }
}

// ceiling returns the next of 1, 2, 5, 10, 20 ... (1, 2, 4, 8 ... KiB for bytes) at or above v.
function ceiling(v, binary) {
  if (binary) return 2 ** Math.ceil(Math.log2(v));
  const base = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map((n) => n * base).find((n) => n >= v * 0.999);
}

// One loop draws all visible charts ten times a second, or once a second if the user prefers reduced motion.
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
let drawn = 0, described = 0;
function frame(at) {
  requestAnimationFrame(frame);
  if (at - drawn < (reducedMotion.matches ? 1000 : 95)) return;
  drawn = at;
  const describing = at - described > 5000;
  if (describing) described = at;
  const now = Date.now();
  for (const c of charts) {
    if (!c.visible) continue;
    c.draw(now);
    if (describing) c.describe();
  }
}
requestAnimationFrame(frame);
