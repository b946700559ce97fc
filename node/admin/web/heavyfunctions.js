// HeavyFunctions shows the pool of heavy functions: how long calls wait for a token, how many calls run, and the functions that
// pass no checkpoint. It is hidden on a node without heavy functions.

import { Chart } from './chart.js';
import { show } from './format.js';

export class HeavyFunctions {
  constructor(root) {
    this.root = root;
    this.wait = new Chart(root.querySelector('#wait'), { title: 'Wait for a token', unit: 'seconds', log: 1e-5, floor: 1e-3, gap: 3500, empty: 'No heavy calls yet' });
    this.tokens = new Chart(root.querySelector('#tokens'), { title: 'Heavy calls', unit: 'count', floor: 2, gap: 3500 });
    this.list = root.querySelector('#unyielding-list');
    this.empty = root.querySelector('#unyielding-empty');
  }

  // update shows the values of a scrape.
  update(s) {
    this.root.hidden = !s.samples('ferry_cpu_tokens').length;
    if (this.root.hidden) return;
    const put = (chart, name, color, v, more) => chart.line(name, { color, ...more }).push(s.time, v);
    if (s.sum('ferry_cpu_jobs_total')) {
      put(this.wait, 'p50', '--c3', s.sum('ferry_cpu_wait_seconds', { quantile: '0.5' }));
      put(this.wait, 'p99', '--c6', s.sum('ferry_cpu_wait_seconds', { quantile: '0.99' }));
    }
    put(this.tokens, 'tokens', '--c7', s.sum('ferry_cpu_tokens'), { width: 1, alpha: 0.6 });
    put(this.tokens, 'on a token', '--c1', s.sum('ferry_cpu_tokens_held'), { fill: 0.1 });
    put(this.tokens, 'without a token', '--c6', s.sum('ferry_cpu_tokens_lent'));
    put(this.tokens, 'waiting', '--c3', s.sum('ferry_cpu_queue'));
    this.listUnyielding(s);
  }

  // listUnyielding lists the functions that pass no checkpoint, the longest call first.
  listUnyielding(s) {
    const jobs = s.samples('ferry_cpu_unyielding').map(({ labels: { job }, value }) => (
      { job, calls: value, longest: s.sum('ferry_cpu_unyielding_longest_seconds', { job }) }
    )).sort((a, b) => b.longest - a.longest || a.job.localeCompare(b.job));
    this.empty.hidden = jobs.length > 0;
    while (this.list.children.length > jobs.length) this.list.lastChild.remove();
    jobs.forEach(({ job, calls, longest }, i) => {
      let item = this.list.children[i];
      if (!item) {
        item = document.createElement('li');
        item.innerHTML = '<b></b><span></span>';
        this.list.append(item);
      }
      item.children[0].textContent = job;
      item.children[1].textContent = `${show(calls, 'count')} ${calls === 1 ? 'call' : 'calls'}, the longest ${show(longest, 'seconds')}`;
    });
  }
}
