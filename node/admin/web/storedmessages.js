// Messages browses the records of a stream, by sequence number. Dead letters show where they come from, and can be replayed.

import { clock, show } from './format.js';
import { prettyJSON } from './prettyjson.js';

const $ = (id) => document.getElementById(id);
const pageSize = 50;
let current = null; // the Messages that the form and the buttons belong to

export class Messages {
  constructor(stream) {
    this.stream = stream;
    this.page = null; // the response shown
    this.notice = ''; // shown in place of the range until other messages are asked for
    current = this;
    $('from').value = $('tag').value = '';
    $('records').replaceChildren();
    $('replay-all').hidden = true;
    this.load({});
  }

  // update notes that the stream has changed: it says how many messages are newer than those shown.
  update(s) {
    this.last = s.last;
    if (this.page && !s.records !== !this.page.messages.length && !$('tag').value) this.load({}, false, this.notice);
    else this.writeRange();
  }

  // open shows the message with a sequence number, and its payload.
  open(number) {
    $('tag').value = '';
    this.load({ from: number }, true);
  }

  go(where) {
    const p = this.page;
    switch (where) {
      case 'oldest': return this.load({ from: 1 });
      case 'older': return this.load(p ? { before: Math.max(1, p.from) } : {});
      case 'newer': return this.load(p ? { from: p.to + 1 } : {});
      default: return this.load({});
    }
  }

  async load(query, open, notice = '') {
    const parameters = new URLSearchParams({ ...query, limit: pageSize, ...($('tag').value && { filter: $('tag').value }) });
    const wanted = this.wanted = `/api/streams/${encodeURIComponent(this.stream)}/messages?${parameters}`;
    try {
      const response = await fetch(wanted, { cache: 'no-store', signal: AbortSignal.timeout(15000) });
      const text = await response.text();
      if (this.wanted !== wanted || current !== this) return; // another page was asked for
      if (!response.ok) throw new Error(text);
      const page = JSON.parse(text);
      if (!page.messages.length && query.from > 1 && page.last) { // there is nothing newer: keep what is shown
        this.last = page.last;
        if (this.page) return this.note('These are the newest messages.');
      }
      this.page = page;
      this.notice = notice;
      this.last = page.last;
      this.write(open ? query.from : 0);
    } catch (err) {
      if (current === this) this.note(err.message);
    }
  }

  write(opened) {
    const newestFirst = this.page.messages.slice().reverse();
    $('records').replaceChildren(...newestFirst.map((m) => record(m, m.sequence === opened, () => this.replay([m.sequence]))));
    $('replay-all').hidden = !newestFirst.some((m) => m.dead_letter);
    const p = this.page;
    this.button('older', p.from > Math.max(1, p.first));
    this.button('oldest', p.from > Math.max(1, p.first));
    this.writeRange();
  }

  button(where, enabled) { $('browse').querySelector(`[data-go="${where}"]`).disabled = !enabled; }

  writeRange() {
    const p = this.page;
    if (!p) return;
    const newer = Math.max(0, this.last - p.to), list = p.messages;
    this.button('newer', newer > 0);
    const which = list.length ? `${show(list[0].sequence, 'count')} to ${show(list[list.length - 1].sequence, 'count')}` : 'none';
    const searched = list.length ? '' : p.to >= p.from && $('tag').value ? ` with this tag among ${show(p.from, 'count')} to ${show(p.to, 'count')}` : '';
    const text = this.notice || `Messages ${which}${searched}${newer ? `, ${show(newer, 'count')} newer` : ''}`;
    if ($('range').textContent !== text) $('range').textContent = text;
  }

  note(text) {
    this.notice = $('range').textContent = text;
  }

  // replay sends dead letters back to where they come from; all of them without sequences.
  async replay(sequences) {
    const query = sequences ? '?' + sequences.map((n) => `sequence=${n}`).join('&') : '';
    try {
      const response = await fetch(`/api/streams/${encodeURIComponent(this.stream)}/replay${query}`, { method: 'POST' });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      const { replayed } = JSON.parse(text);
      await this.load(this.page?.from ? { from: this.page.from } : {});
      this.note(`Replayed ${show(replayed, 'count')} ${replayed === 1 ? 'dead letter' : 'dead letters'}.`);
    } catch (err) {
      this.note(err.message);
    }
  }
}

// record returns the list item of a message: a line, and below it, when it is open, the payload.
function record(m, open, replay) {
  const item = document.createElement('li'), details = document.createElement('details');
  details.innerHTML = '<summary><b class="number"></b><time></time><span class="tag"></span><span class="type"></span><span class="size"></span></summary>';
  const [number, time, tag, type, size] = details.firstChild.children;
  number.textContent = show(m.sequence, 'count');
  tag.textContent = m.error ? m.error : m.tag;
  details.className = m.error ? 'damaged' : m.dead_letter ? 'dead' : '';
  if (!m.error) {
    time.textContent = date(m.stored);
    time.dateTime = new Date(m.stored).toISOString();
    type.textContent = m.type;
    size.textContent = show(m.size, 'bytes');
  }
  details.append(...(m.dead_letter ? [deadLetter(m.dead_letter, m.sequence, replay)] : []), facts(m));
  details.addEventListener('toggle', () => { if (details.open && !details.querySelector('pre')) details.append(payload(m)); });
  item.append(details);
  if (open) {
    details.open = true;
    requestAnimationFrame(() => { item.scrollIntoView({ block: 'center' }); details.firstChild.focus({ preventScroll: true }); });
  }
  return item;
}

function date(ms) {
  const d = new Date(ms), today = d.toDateString() === new Date().toDateString();
  return today ? clock(ms) : `${d.toLocaleDateString('sv')} ${clock(ms)}`;
}

function deadLetter(d, sequence, replay) {
  const p = document.createElement('p'), link = document.createElement('a'), button = document.createElement('button');
  p.className = 'reason';
  link.href = `#/${encodeURIComponent(d.stream)}/${d.sequence}`;
  link.textContent = `${d.stream} ${show(d.sequence, 'count')}`;
  button.type = 'button';
  button.className = 'button';
  button.textContent = 'Replay';
  button.setAttribute('aria-label', `Replay ${sequence}`);
  button.addEventListener('click', async () => {
    button.disabled = true;
    await replay();
    button.disabled = false;
  });
  const reason = document.createElement('b');
  reason.textContent = d.reason || 'no reason given';
  p.append(reason, ` after ${show(d.deliveries, 'count')} ${d.deliveries === 1 ? 'delivery' : 'deliveries'} of `, link, d.tag ? `, tag ${d.tag} ` : ' ', button);
  return p;
}

function facts(m) {
  const p = document.createElement('p');
  p.className = 'facts';
  p.textContent = [
    m.time && `sent ${new Date(m.time).toISOString()}`, m.key && `key ${m.key}`, m.id && `id ${m.id}`, m.as === 'hex' && 'shown as hex',
  ].filter(Boolean).join(' · ');
  return p;
}

function payload(m) {
  const pre = document.createElement('pre');
  pre.tabIndex = 0;
  pre.setAttribute('aria-label', `Payload of ${m.sequence}`);
  if (m.error) pre.textContent = 'This record is damaged and is not delivered.';
  else if (m.as === 'none') pre.textContent = `${show(m.size, 'bytes')}: too long to be shown here. ferry sub --from ${m.sequence} prints it.`;
  else pre.textContent = m.as === 'json' ? prettyJSON(m.payload) : m.payload;
  return pre;
}

$('browse').addEventListener('submit', (e) => {
  e.preventDefault();
  const from = Number($('from').value);
  current?.load(from > 0 ? { from } : {});
});
$('browse').addEventListener('click', (e) => { if (e.target.dataset.go) current?.go(e.target.dataset.go); });
$('replay-all').addEventListener('click', async (e) => {
  const button = e.currentTarget;
  if (button.dataset.sure) {
    button.disabled = true;
    await current?.replay(null);
    button.disabled = false;
  }
  button.dataset.sure = button.dataset.sure ? '' : 'yes';
  button.textContent = button.dataset.sure ? 'Replay all: click again to confirm' : 'Replay all dead letters';
});
$('replay-all').addEventListener('blur', (e) => {
  e.currentTarget.dataset.sure = '';
  e.currentTarget.textContent = 'Replay all dead letters';
});
