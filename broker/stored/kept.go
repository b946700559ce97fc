package stored

import delivery "example.com/ferry/broker/stored/internal/durable"

// keptWindow is the window of a durable without members, whose next member continues with it. So a client that connects again gets
// what it has not acked without a read, and the engine's cursor stays where it is. The windows that a Store keeps have at most
// Limits.DurableWindow bytes in all.
type keptWindow struct {
	until int64 // when the window is closed, in Unix nanoseconds; 0 means that it is not kept
	bytes int64 // of Store.keptBytes
}

// keep keeps the window of a durable without members. It returns false if it has none that may be kept. The caller holds the lock.
func (d *durable) keep(now int64) bool {
	wait, store := d.stored.config().KeepWindow, d.stored.store
	if wait <= 0 || !d.hasWindow() || store.stopping() {
		return false
	}
	_, bytes := d.window.Held()
	if store.keptBytes.Add(int64(bytes)) > int64(store.limits.Load().DurableWindow) {
		store.keptBytes.Add(-int64(bytes))
		return false
	}
	d.kept = keptWindow{now + int64(wait), int64(bytes)}
	if d.cursor != nil {
		d.committed = 0 // what the last member has acked is stored at once
		d.commit(now)
	}
	return true
}

// release makes a kept window one in use, or one that is closed. The caller holds the lock.
func (d *durable) release() {
	d.stored.store.keptBytes.Add(-d.kept.bytes)
	d.kept = keptWindow{}
}

// end makes the goroutine of a durable without members close the window. The caller holds the lock.
func (d *durable) end() {
	d.release()
	if d.cancel != nil {
		d.ending = true
		d.cancel()
	}
}

// endKept closes the windows of the stream's durables that have no members.
func (st *Stream) endKept() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, d := range st.durables {
		d.mu.Lock()
		if d.kept.until != 0 {
			d.end()
		}
		d.mu.Unlock()
	}
}

// configure makes the window follow the configuration, which a reload may have changed. The caller holds the lock.
func (d *durable) configure() {
	cfg, limit := d.stored.config(), d.stored.store.limits.Load().DurableWindow
	if cfg == d.cfg && limit == d.limit {
		return
	}
	d.cfg, d.limit = cfg, limit
	d.window.Configure(d.windowConfig())
}

func (d *durable) windowConfig() delivery.Config {
	return delivery.Config{MaxBytes: d.limit, AckWait: d.cfg.AckWait, Backoff: d.cfg.Backoff, MaxDeliveries: d.cfg.MaxDeliveries}
}

// full reports whether nothing is to be read into the window. The caller holds the lock.
func (d *durable) full() bool { return d.kept.until != 0 || !d.window.Roomy() }
