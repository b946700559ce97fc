const idleTimeout = 12e3; // ms; the node sends an event at least every 5 s

// subscribe reads the messages of tags from /api/stream and calls the handlers. It reconnects until it succeeds when the
// connection fails or idles.
export function subscribe(tags, { message, up, down, dropped }) {
  const url = '/api/stream?' + tags.map((t) => 'tag=' + encodeURIComponent(t)).join('&');
  let wait = 250; // ms until the next try
  const open = () => {
    const source = new EventSource(url);
    let watchdog;
    const fail = () => {
      clearTimeout(watchdog);
      source.close();
      down();
      setTimeout(open, wait);
      wait = Math.min(wait * 2, 3000);
    };
    const resetWatchdog = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(fail, idleTimeout);
    };
    resetWatchdog();
    source.onopen = () => { resetWatchdog(); wait = 250; up(); };
    source.onmessage = (e) => { resetWatchdog(); message(JSON.parse(e.data)); };
    source.addEventListener('idle', resetWatchdog);
    source.addEventListener('dropped', (e) => { resetWatchdog(); dropped(Number(e.data)); });
    source.onerror = fail;
  };
  open();
}
