package nats

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/internal/filelock"
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
	lock    *filelock.Lock
	door    *door // nil without a listener
	space   *space
	staging *staging // nil if batches are staged on the disk
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
	if err := h.removeHalfMade(); err != nil {
		return err
	}
	h.staging = openStaging(memoryDir(), h.config.Dir, h.streamsDir(), h.config.Log)
	srv, err := startServer(h.config, h.gate)
	if err != nil {
		h.staging.close()
		return err
	}
	h.staging.begin()
	h.srv, h.space = srv, &space{dir: h.config.Dir}
	if h.config.Listen == "" {
		return nil
	}
	if h.door, err = openDoor(h.config.Listen, h.InProcessConn, h.config.Log); err != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		h.staging.close()
	}
	return err
}

// streamsDir returns the server's directory of streams.
func (h *host) streamsDir() string {
	return filepath.Join(h.dir, server.DEFAULT_GLOBAL_ACCOUNT, "streams")
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
	h.door.close()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.srv.Shutdown()
	h.srv.WaitForShutdown()
	h.staging.close()
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
	h.staging.begin() // the connections of the engine wait for the lock
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

// room returns an error if the disk has no room for the next batch of a stream. The server writes a batch twice.
func (h *host) room(s *stream, batch []entry) error {
	if h == nil {
		return nil
	}
	n := 0
	for i := range batch {
		n += len(batch[i].record.Payload) + len(batch[i].record.Extension) + 512
	}
	if len(batch) > 1 && !s.config.Load().InMemory {
		h.staging.choose(s.js(), 2*int64(n))
	}
	return h.space.check(2*int64(n), keptFree)
}

func (h *host) roomForPosition() error {
	if h == nil {
		return nil
	}
	return h.space.check(64<<10, keptFreeLast)
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
		h.staging.forget(streamPrefix + name)
	}
}

// awaitRemoval waits until the server has removed the files of an earlier JetStream stream of that name, or ctx ends.
func (h *host) awaitRemoval(ctx context.Context, name string) {
	if h == nil {
		return
	}
	path := filepath.Join(h.streamsDir(), "."+name)
	for ctx.Err() == nil {
		if _, err := os.Stat(path); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
