package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
	"example.com/ferry/internal/filelock"
)

// EmbeddedConfig configures a server in the process.
type EmbeddedConfig struct {
	// Dir is the directory of the store. Embedded creates it. One process at a time uses it.
	Dir string

	// Sync says when stored records are on the disk: engine.SyncAlways (also 0) or engine.SyncInterval.
	Sync engine.Sync

	// Interval is the time between two syncs with engine.SyncInterval. 0 means 1 s.
	Interval time.Duration

	// Listen is the address on which other NATS clients reach the server, without TLS. "" means none: the engine then opens no port.
	Listen string

	// Authenticate says what a client of the listener may do. It may be called from several goroutines. nil refuses all clients.
	Authenticate func(Client) (Access, error)

	// MaxBytes bounds the store, in bytes. 0 means no bound but the disk's. In any case records wait while less than 32 MiB of
	// the disk are free.
	MaxBytes int64

	// MaxRecord bounds one record with its tag, ID and extension, in bytes. 0 means 8 MiB; the most is 64 MiB.
	MaxRecord int

	// Log receives the warnings and errors of the server. nil means slog.Default.
	Log *slog.Logger
}

const (
	defaultInterval  = time.Second
	defaultMaxRecord = 8 << 20
	mostMaxRecord    = 64 << 20
)

// Embedded starts a server in the process. It returns when the store is recovered and can be used.
func Embedded(ctx context.Context, c EmbeddedConfig) (*Engine, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	if c.MaxRecord == 0 {
		c.MaxRecord = defaultMaxRecord
	}
	switch {
	case c.Dir == "":
		return nil, errors.New("engine: the embedded engine needs a directory")
	case c.Sync != 0 && c.Sync != engine.SyncAlways && c.Sync != engine.SyncInterval:
		return nil, fmt.Errorf("engine: sync %s: the embedded engine has always and interval", c.Sync)
	case c.Interval < 0:
		return nil, fmt.Errorf("engine: interval %s is negative", c.Interval)
	case c.MaxRecord < 0 || c.MaxRecord > mostMaxRecord:
		return nil, fmt.Errorf("engine: records of at most %d bytes: the most is %d", c.MaxRecord, mostMaxRecord)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("engine: directory of the store: %w", err)
	}
	lock, err := filelock.Take(filepath.Join(c.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("engine: directory of the store: %w", err)
	}
	h := &host{config: c, gate: newGate(c.Authenticate, c.Log), dir: filepath.Join(c.Dir, server.JetStreamStoreDir), lock: lock, closing: make(chan struct{})}
	if err := h.start(); err != nil {
		lock.Close()
		return nil, err
	}
	caps := engine.Capabilities{Name: "nats", Durable: true, Sync: engine.SyncAlways, MaxReplicas: 1, Address: "embedded"}
	if c.Sync == engine.SyncInterval {
		caps.Sync, caps.Interval = engine.SyncInterval, c.Interval
	}
	e, err := newEngine(ctx, caps, c.Log, "", natsgo.InProcessServer(h), natsgo.UserInfo(ownUser, h.gate.password))
	if err != nil {
		h.stop()
		return nil, err
	}
	e.host = h
	e.exclusive = true
	e.foreign = c.Listen != ""
	if err := e.recover(ctx); err != nil {
		_ = e.Close(ctx) // the first error counts
		return nil, err
	}
	go h.supervise(e)
	return e, nil
}

// Addr returns the address of the listener of an embedded server, or nil.
func (e *Engine) Addr() net.Addr {
	if e.host == nil || e.host.door == nil {
		return nil
	}
	return e.host.door.listener.Addr()
}

func startServer(c EmbeddedConfig, g *gate) (*server.Server, error) {
	maxStore := c.MaxBytes
	if maxStore == 0 {
		maxStore = math.MaxInt64 / 2 // the server's own default is what the disk has when it starts
	}
	o := &server.Options{
		ServerName:                 "ferry",
		DontListen:                 true, // the door listens
		NoSigs:                     true,
		NoLog:                      true, // log.go is the logger
		MaxPayload:                 int32(c.MaxRecord),
		MaxPending:                 max(server.MAX_PENDING_SIZE, 2*int64(c.MaxRecord)),
		MaxControlLine:             8 << 10, // a tag's subject can have more than 2 KiB
		JetStream:                  true,
		JetStreamMaxStore:          maxStore,
		DisableJetStreamBanner:     true,
		StoreDir:                   c.Dir,
		SyncAlways:                 c.Sync != engine.SyncInterval,
		SyncInterval:               c.Interval,
		CustomClientAuthentication: g,
	}
	srv, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("engine: embedded server: %w", err)
	}
	log := &serverLog{log: c.Log}
	srv.SetLogger(log, false, false)
	srv.Start()
	fail := log.fatalError()
	if fail == "" && !srv.JetStreamEnabled() {
		fail = "the store could not be opened"
	}
	if fail != "" {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, fmt.Errorf("engine: embedded server with directory %s: %s", c.Dir, fail)
	}
	return srv, nil
}
