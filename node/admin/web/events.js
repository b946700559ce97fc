// listen follows /api/stream, and tries again by itself until the node is back when it went away.

const silence = 12e3; // ms: the node says something every 5 s

export function listen(tags, { message, up, down, dropped }) {
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
    const heard = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(fail, silence);
    };
    heard();
    source.onopen = () => { heard(); wait = 250; up(); };
    source.onmessage = (e) => { heard(); message(JSON.parse(e.data)); };
    source.addEventListener('idle', heard);
    source.addEventListener('dropped', (e) => { heard(); dropped(Number(e.data)); });
    source.onerror = fail;
  };
  open();
}
