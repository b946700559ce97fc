// Tiles are the figures on top: the newest value of each, large, over a line of those before.

import { Chart } from './chart.js';
import { parts } from './format.js';

// tiles fills root with a tile for each [id, title, unit, color, options], and returns what writes a value into each, by id:
// set(t, v), or set(t, v, text) where v is not what is to be read.
export function tiles(root, list) {
  return Object.fromEntries(list.map(([id, title, unit, color]) => {
    const tile = document.createElement('div');
    tile.className = 'tile';
    tile.dataset.tile = id;
    tile.innerHTML = '<h3></h3><output></output><div class="spark"></div>';
    tile.firstChild.textContent = title;
    root.append(tile);
    const spark = new Chart(tile.lastChild, { spark: true, unit, gap: 3500, floor: unit === 'seconds' ? 1e-5 : 1 }).line(id, { color, width: 1.5, fill: 0.12 });
    const set = (t, v, text) => {
      const [number, name] = text ?? parts(v, unit), out = tile.children[1], small = document.createElement('small');
      small.textContent = name;
      out.replaceChildren(number, small);
      if (v != null) spark.push(t, v);
    };
    set(0, null);
    return [id, set];
  }));
}
