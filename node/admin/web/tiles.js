// Tiles are the large figures at the top: each shows its newest value, and a small chart of the earlier ones.

import { Chart } from './chart.js';
import { parts } from './format.js';

// tiles adds a tile to root for each [id, title, unit, color]. It returns an object with a function for each id: set(t, v) adds a
// value at a time; set(t, v, [number, unit]) shows that text in place of v; set.clear() removes all values.
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
    set.clear = () => {
      spark.clear();
      set(0, null);
    };
    set.clear();
    return [id, set];
  }));
}
