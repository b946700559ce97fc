import { persist, readEvents } from './ferry.js';

const idle = 12e3; // ms; the node sends an event at least every 5 s

// subscribe reads the messages of tags from /api/stream and calls the handlers. It reconnects until it succeeds when the
// connection fails or idles.
export function subscribe(tags, { message, up, down, dropped }) {
  const url = '/api/stream?' + tags.map((t) => 'tag=' + encodeURIComponent(t)).join('&');
  const handle = ({ event, data }) => {
    if (event === 'message') message(JSON.parse(data));
    if (event === 'dropped') dropped(Number(data));
  };
  const connect = (signal, opened) => readEvents(url, { signal, idle }, opened, handle);
  persist(connect, (state) => (state === 'open' ? up() : down()), { longest: 3000, final: () => false });
}
