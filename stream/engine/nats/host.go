package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/stream/engine"
)

const (
	healthEvery   = 250 * time.Millisecond // while records wait
	restartsEvery = 2 * time.Second        // at most
	saveEvery     = 4                      // healthEvery
)

// host runs the embedded server. A JetStream stream takes no more records after a write has failed, for example because the disk
// was full, until its server starts again. So the host looks at the server while records wait, and starts it again. The connections
// of the engine reconnect by themselves. The methods of a nil host do nothing: a cluster has none.
type host struct {
	config  EmbeddedConfig
	gate    *gate
	dir     string // of JetStream
	lock    *os.File
	space   *space
	ledger  *ledger
	closing chan struct{}

	mu  sync.Mutex
	srv *server.Server
}

// start starts the server for the first time.
func (h *host) start() (err error) {
	if h.ledger, err = openLedger(filepath.Join(h.config.Dir, "ledger.json")); err != nil {
		return err
	}
	srv, err := startServer(h.config, h.gate)
	if err != nil {
		return err
	}
	h.srv, h.space = srv, &space{dir: h.config.Dir}
	return nil
}

func (h *host) server() *server.Server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.srv
}

// InProcessConn implements natsgo.InProcessConnProvider.
func (h *host) InProcessConn() (net.Conn, error) { return h.server().InProcessConn() }

// stop ends the server and frees the directory.
func (h *host) stop() {
	close(h.closing)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.srv.Shutdown()
	h.srv.WaitForShutdown()
	h.saveLedger()
	h.lock.Close()
}

func (h *host) saveLedger() {
	if err := h.ledger.save(); err != nil {
		h.config.Log.Error("engine: what is stored could not be noted: a loss would not be found", "dir", h.config.Dir, "err", err)
	}
}

// supervise starts the server again when a stream has had a write error, and saves the ledger.
func (h *host) supervise(e *Engine) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-h.closing:
			return
		}
		if n%saveEvery == 0 {
			h.saveLedger()
		}
		if !e.waits() {
			continue
		}
		fault := h.fault()
		if fault == "" || h.space.check(0, keptFree) != nil {
			continue
		}
		h.config.Log.Error("engine: the embedded server cannot write and starts again", "dir", h.config.Dir, "err", fault)
		h.restart()
		select {
		case <-time.After(restartsEvery):
		case <-h.closing:
			return
		}
	}
}

// fault returns what is wrong with the server.
func (h *host) fault() string {
	srv := h.server()
	if !srv.Running() || !srv.JetStreamEnabled() {
		return "JetStream has stopped"
	}
	health := srv.Healthz(&server.HealthzOptions{})
	if health.Status == "ok" {
		return ""
	}
	return health.Error
}

func (h *host) restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closing:
		return
	default:
	}
	h.srv.Shutdown()
	h.srv.WaitForShutdown()
	srv, err := startServer(h.config, h.gate)
	if err != nil {
		h.config.Log.Error("engine: the embedded server does not start", "dir", h.config.Dir, "err", err)
		return // supervise tries again: the server does not run
	}
	h.srv = srv
}

// waits reports whether records of a stream wait to be stored.
func (e *Engine) waits() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.streams {
		if s.appender.waits() {
			return true
		}
	}
	return false
}

// syncMeta makes changed configurations of streams outlive a power failure.
func (h *host) syncMeta() error {
	if h == nil {
		return nil
	}
	if err := syncMeta(h.config.Dir); err != nil {
		return fmt.Errorf("engine: directory %s: %w", h.config.Dir, err)
	}
	return nil
}

// room returns an error if the disk has no room for records. The server writes a batch twice.
func (h *host) room(batch []entry) error {
	if h == nil {
		return nil
	}
	n := 0
	for i := range batch {
		n += len(batch[i].record.Payload) + len(batch[i].record.Extension) + 512
	}
	return h.space.check(2*int64(n), keptFree)
}

func (h *host) roomForPosition() error {
	if h == nil {
		return nil
	}
	return h.space.check(64<<10, keptFreeLast)
}

// recover checks what the server has recovered, and mends what a power failure has left.
func (e *Engine) recover(ctx context.Context) error {
	if err := e.recovered(ctx); err != nil {
		return err
	}
	if err := e.host.syncMeta(); err != nil {
		return err
	}
	list, err := e.List(ctx)
	if err != nil {
		return err
	}
	for _, info := range list {
		if err := e.clampCursors(ctx, info.Config.Name, info.Last); err != nil {
			return err
		}
		if err := e.findLost(ctx, info.Config); err != nil {
			return err
		}
	}
	e.host.saveLedger()
	return nil
}

// findLost reports the records of a stream that the server has lost since it was stopped.
func (e *Engine) findLost(ctx context.Context, c engine.Config) error {
	if c.InMemory {
		e.host.ledger.forget(c.Name)
		return nil
	}
	state, err := e.view(c.Name).state(ctx)
	if err != nil {
		return err
	}
	var inner ranges
	var tail engine.Range
	e.host.ledger.update(c.Name, func(l *ledgerEntry) { inner, tail = l.compare(state, c.MaxPerTag > 0) })
	for _, r := range inner {
		e.log.Error("engine: stored records are lost: the store is damaged", "stream", c.Name, "first", r.First, "last", r.First+r.Count-1)
	}
	if tail.Count > 0 {
		why := "the store is damaged"
		if e.caps.Sync == engine.SyncInterval {
			why = "the machine has lost power before they were synced, or the store is damaged"
		}
		e.log.Error("engine: the last records are lost: "+why, "stream", c.Name, "first", tail.First, "last", tail.First+tail.Count-1)
	}
	return nil
}

// stored notes the number of an acknowledged record.
func (h *host) stored(name string, sequence uint64) {
	if h != nil {
		h.ledger.update(name, func(e *ledgerEntry) { e.Last = max(e.Last, sequence) })
	}
}

// removing notes that a record is removed on purpose.
func (h *host) removing(name string, sequence uint64) error {
	if h == nil {
		return nil
	}
	h.ledger.update(name, func(e *ledgerEntry) { e.Removed = e.Removed.with(ranges{{First: sequence, Count: 1}}) })
	return h.ledger.save()
}

// purging notes that records are removed on purpose. purged says which.
func (h *host) purging(name string) error {
	if h == nil {
		return nil
	}
	h.ledger.update(name, func(e *ledgerEntry) { e.Purging = true })
	return h.ledger.save()
}

func (h *host) purged(name string, removed ranges) error {
	h.ledger.update(name, func(e *ledgerEntry) { e.Removed, e.Purging = removed, false })
	return h.ledger.save()
}

// lostOf returns the numbers of records that were found missing.
func (h *host) lostOf(name string) ranges {
	if h == nil {
		return nil
	}
	return h.ledger.entry(name).Lost
}

func (h *host) forget(name string) {
	if h != nil {
		h.ledger.forget(name)
	}
}

// recovered returns an error if the server did not recover a stream of the directory. The server itself skips it with a warning.
func (e *Engine) recovered(ctx context.Context) error {
	dir := filepath.Join(e.host.dir, server.DEFAULT_GLOBAL_ACCOUNT, "streams")
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("engine: %w", err)
	}
	names, err := e.streamNames(ctx)
	if err != nil {
		return err
	}
	for _, d := range found {
		_, err := os.Stat(filepath.Join(dir, d.Name(), server.JetStreamMetaFile))
		if err == nil && !slices.Contains(names, d.Name()) {
			return fmt.Errorf("engine: directory %s: the stream in it could not be recovered (the log says why): restore it from a backup, or move the directory away", filepath.Join(dir, d.Name()))
		}
	}
	return nil
}

// clampCursors does to all cursors of a stream what clamp does, before new records get the numbers of those that are lost.
func (e *Engine) clampCursors(ctx context.Context, name string, last uint64) error {
	s := e.view(name)
	kv, err := s.cursorBucket(ctx, false)
	if kv == nil {
		return err
	}
	names, err := s.cursorNames(ctx, kv)
	if err != nil {
		return err
	}
	for _, cursor := range names {
		entry, revision, err := readCursor(ctx, e, kv, cursor)
		if err != nil {
			return err
		}
		if revision == 0 || !entry.clamp(last) {
			continue
		}
		value, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		_, err = request(ctx, e, func(ctx context.Context) (uint64, error) { return kv.Update(ctx, cursor, value, revision) })
		if err != nil {
			return errors.Join(fmt.Errorf("engine: cursor %q of stream %q", cursor, name), err)
		}
		e.log.Warn("engine: a cursor was ahead of its stream, whose last records are lost", "stream", name, "cursor", cursor, "last", last)
	}
	return nil
}
