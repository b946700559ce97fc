// pipelineSteps shows the steps of a function's pipeline, with what each got and passed on, and what its groups hold.

import { show } from './format.js';

export function pipelineSteps(root, pipeline) {
  root.hidden = !pipeline;
  if (!pipeline) return;
  let list = root.querySelector('ol');
  if (!list) {
    root.innerHTML = '<h4>Pipeline</h4><ol></ol><p class="state"></p>';
    list = root.querySelector('ol');
  }
  while (list.children.length > pipeline.steps.length) list.lastChild.remove();
  pipeline.steps.forEach((step, i) => write(list.children[i] ?? add(list), step));
  const windows = `${show(pipeline.open, 'count')} open window${pipeline.open === 1 ? '' : 's'}`;
  const lost = [[pipeline.refused, 'messages dropped: too many groups'], [pipeline.failed, 'results not published']]
    .filter(([n]) => n).map(([n, text]) => `, ${show(n, 'count')} ${text}`).join('');
  const state = root.querySelector('.state');
  state.textContent = `${show(pipeline.groups, 'count')} group${pipeline.groups === 1 ? '' : 's'}, ${windows}${lost}`;
  state.classList.toggle('bad', lost !== '');
}

function add(list) {
  const item = document.createElement('li');
  item.innerHTML = '<code></code><span class="counts"></span><span class="lost"></span>';
  list.append(item);
  return item;
}

function write(item, step) {
  const [code, counts, lost] = item.children;
  code.textContent = step.text;
  counts.textContent = `${show(step.in, 'count')} → ${show(step.out, 'count')}`;
  counts.title = `${step.in} in, ${step.out} out`;
  lost.textContent = [[step.skipped, 'skipped'], [step.late, 'late']].filter(([n]) => n).map(([n, text]) => `${show(n, 'count')} ${text}`).join(', ');
  lost.hidden = !lost.textContent;
}
