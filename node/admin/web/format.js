// Formats numbers for display, as [number, unit]: 1536 bytes are ['1.5', 'KiB'].

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function digits(v) {
  const a = Math.abs(v);
  return v.toLocaleString('en', { maximumFractionDigits: a >= 100 || Number.isInteger(v) ? 0 : a >= 10 ? 1 : 2 });
}

function bytes(v) {
  let i = 0;
  while (Math.abs(v) >= 1000 && i < binary.length - 1) { v /= 1024; i++; }
  return [digits(i === 0 ? Math.round(v) : v), binary[i]];
}

function seconds(v) {
  if (v < 1e-3) return [digits(v * 1e6), 'µs'];
  if (v < 1) return [digits(v * 1e3), 'ms'];
  return [digits(v), 's'];
}

function per(pair) { return [pair[0], pair[1] ? pair[1] + '/s' : '/s']; }

const units = {
  percent: (v) => [v.toFixed(v >= 99.95 ? 0 : 1), '%'],
  celsius: (v) => [v.toFixed(1), '°C'],
  count: (v) => [digits(v), ''],
  rate: (v) => [digits(v), '/s'],
  bytes,
  byterate: (v) => per(bytes(v)),
  seconds,
};

// parts returns [number, unit] of v. A missing value is a dash.
export function parts(v, unit) {
  return v == null || !Number.isFinite(v) ? ['–', ''] : units[unit](v);
}

// show returns v with its unit, in one string.
export function show(v, unit) {
  const [number, name] = parts(v, unit);
  return name ? `${number} ${name}` : number;
}

// tick returns v as the label of an axis.
export function tick(v, unit) {
  return unit === 'percent' || unit === 'celsius' ? `${Math.round(v)} ${parts(v, unit)[1]}` : show(v, unit);
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
}
