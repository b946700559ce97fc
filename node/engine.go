package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
	"example.com/ferry/field"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
)

// Engine is an engine of streams and how it is started.
type Engine struct {
	config.EngineDescriptor

	// Start returns when the engine has recovered what it stores.
	Start func(context.Context, EngineSettings) (engine.Engine, error)
}

// EngineSettings is what the configuration and the node say about an engine.
type EngineSettings struct {
	Name            string // of the node
	Address         string // engine.address
	Dir             string // directory of an engine that writes to the disk
	Sync            engine.Sync
	Interval        time.Duration
	CredentialsFile string
	CAFile          string
	Convert         bool // Dir may have streams of NATS JetStream, which are being copied
	Log             *slog.Logger
}

// trust returns how the servers of the engine are verified; nil if they have no TLS.
func (s *EngineSettings) trust() (*tls.Config, error) {
	switch {
	case s.CAFile != "":
		return pki.ClientTLS(s.CAFile)
	case strings.HasPrefix(s.Address, "tls://"):
		return &tls.Config{MinVersion: tls.VersionTLS12}, nil
	}
	return nil, nil
}

const (
	streamsDir   = "streams"   // below the data directory
	logDir       = "log"       // below streamsDir: of the embedded engine
	jetStreamDir = "jetstream" // below streamsDir: of the embedded engine of earlier versions, which was a NATS server
)

// checkConverted refuses a directory whose streams an earlier version has stored.
func checkConverted(dir string) error {
	old := filepath.Join(dir, jetStreamDir)
	if _, err := os.Stat(old); err != nil {
		return nil //nolint:nilerr // there are none
	}
	return fmt.Errorf(`%s has streams that an earlier version of ferry has stored with NATS JetStream. Run a nats-server on them:
    nats-server -js -sd %s -a 127.0.0.1 -p 4222
copy each of them:
    ferry stream copy --from nats://127.0.0.1:4222 --to-dir %s NAME
and then move %s away`, old, dir, filepath.Dir(dir), old)
}

// startTimeoutOfServers bounds how long the servers of an engine may take to respond when the node starts.
const startTimeoutOfServers = 10 * time.Second

// StartEngine starts the engine that cfg names, as Build does. It is for commands that read or write the streams of a node that
// does not run. Until unlock is called, no node starts that would write to cfg.DataDir; StartEngine fails while one runs.
func (x *Extensions) StartEngine(ctx context.Context, cfg *config.Config, settings EngineSettings) (e engine.Engine, unlock func() error, err error) {
	unlock = func() error { return nil }
	if cfg.Engine.Address != config.MemoryEngine && !slices.ContainsFunc(x.engines(), func(e Engine) bool { return e.Remote && e.Matches(cfg.Engine.Address) }) {
		lock, err := lockData(cfg.DataDir)
		if err != nil {
			return nil, nil, err
		}
		unlock = lock.Close
	}
	if e, err = x.startEngine(ctx, cfg, settings); err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return e, unlock, nil
}

// VerifyStreams reads the streams in the files of a data directory, whose node does not run, and calls visit for each. It repairs nothing. The
// error wraps fs.ErrNotExist if there are none.
func VerifyStreams(ctx context.Context, dataDir string, visit func(file.Verified) error) error {
	return file.Verify(ctx, filepath.Join(dataDir, streamsDir, logDir), visit)
}

// startEngine starts the engine that cfg names. The caller has the lock of what it writes.
func (x *Extensions) startEngine(ctx context.Context, cfg *config.Config, settings EngineSettings) (engine.Engine, error) {
	list := x.engines()
	i := slices.IndexFunc(list, func(e Engine) bool { return e.Matches(cfg.Engine.Address) })
	if i < 0 {
		return nil, fmt.Errorf("this program has no engine %q", cfg.Engine.Address)
	}
	settings.Address, settings.Dir = cfg.Engine.Address, filepath.Join(cfg.DataDir, streamsDir)
	settings.Interval = cfg.Engine.Interval
	settings.CredentialsFile, settings.CAFile = cfg.Engine.CredentialsFile, cfg.Engine.CAFile
	settings.Sync = engine.SyncAlways
	if cfg.Engine.Sync == config.SyncInterval {
		settings.Sync = engine.SyncInterval
	}
	if settings.Name == "" {
		settings.Name = nodeName()
	}
	if list[i].Disk && !settings.Convert {
		if err := checkConverted(settings.Dir); err != nil {
			return nil, err
		}
	}
	if list[i].Remote {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startTimeoutOfServers)
		defer cancel()
	}
	e, err := list[i].Start(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("%s does not start: %w", settings.Address, err)
	}
	return e, nil
}

// nodeName returns the name by which engines know this node: the host's, and the process, as several nodes may share a host.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// openStreams starts the engine and opens the streams of the configuration. A node that stores no stream in memory has no engine.
func (n *Node) openStreams(cfg *config.Config) error {
	if cfg.Engine.Address == config.MemoryEngine && len(cfg.Streams) == 0 {
		return nil
	}
	s := &storedStreams{
		address: cfg.Engine.Address, holder: nodeName(), started: time.Now(), broker: func() broker.Snapshot { return n.broker.Snapshot() },
		forget: func(stream, durable string) error { return n.broker.ForgetDurable(stream, durable) },
	}
	n.log.Info("engine starts", "address", cfg.Engine.Address, "admin", n.Admin())
	var err error
	if s.engine, err = n.extensions.startEngine(context.Background(), cfg, EngineSettings{Name: s.holder, Log: n.log}); err != nil {
		return fmt.Errorf("engine.address: %w", err)
	}
	n.streams = s
	var list []storedStream
	for i, c := range cfg.Streams {
		opened, err := s.open(c)
		if err != nil {
			return fmt.Errorf("streams[%d]: %w%s", i, err, s.adviceOnOthers(cfg))
		}
		list = append(list, opened)
	}
	s.replace(list)
	can := s.engine.Capabilities()
	n.log.Info("engine started", "address", can.Address, "sync", can.Sync.String(), "streams", len(list), "power_loss", powerLoss(can))
	s.warnOfOthers(n.log)
	return nil
}

// adviceOnOthers names the streams that the engine has and the configuration does not: their tags are taken.
func (s *storedStreams) adviceOnOthers(cfg *config.Config) string {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	all, err := s.engine.List(ctx)
	if err != nil || !cfg.Engine.OnDisk() {
		return ""
	}
	var others []string
	for _, info := range all {
		if !slices.ContainsFunc(cfg.Streams, func(c config.Stream) bool { return c.Name == info.Config.Name }) {
			others = append(others, info.Config.Name)
		}
	}
	if others == nil {
		return ""
	}
	return fmt.Sprintf("\nthe store has %s, which the configuration does not have: give a stream its former name, or remove it with ferry stream rm --data-dir %s NAME",
		strings.Join(others, ", "), cfg.DataDir)
}

// openTimeout bounds how long the engine may take to open a stream.
const openTimeout = 30 * time.Second

// open opens a stream of the configuration.
func (s *storedStreams) open(c config.Stream) (storedStream, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	stored := storedStream{config: c, settings: engineConfig(c)}
	var err error
	stored.stream, err = s.engine.Open(ctx, stored.settings)
	return stored, err
}

// warnOfOthers logs which streams the engine has and the configuration does not: they keep their disk space.
func (s *storedStreams) warnOfOthers(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	all, err := s.engine.List(ctx)
	if err != nil {
		log.Warn("the engine does not list its streams", "err", err)
		return
	}
	for _, info := range all {
		if _, known := s.find(info.Config.Name); !known {
			log.Warn("the engine has a stream that is not in the configuration", "stream", info.Config.Name, "records", info.Records, "bytes", info.Bytes)
		}
	}
}

// engineConfig returns the part of a stream that is the engine's.
func engineConfig(c config.Stream) engine.Config {
	return engine.Config{
		Name: c.Name, Tags: c.Tags, Replicas: c.Replicas, InMemory: c.Storage == config.StorageMemory,
		MaxAge: c.Retention.Age, MaxBytes: int64(c.Retention.Size), MaxRecords: c.Retention.Messages, MaxPerTag: c.Retention.PerTag,
		DuplicateWindow: c.Idempotency.Window, SharedIDs: c.Idempotency.Scope == config.ScopeStream,
	}
}

// keepWindow is how long a durable keeps its window after its last member: a client that has lost its connection is back by then.
const keepWindow = 5 * time.Second

// brokerStreams returns streams as the broker knows them. A durable keeps its window where no other process may wait for its cursor.
func (s *storedStreams) brokerStreams(list []storedStream) []broker.Stored {
	keep := keepWindow
	if s.engine.Capabilities().Shared {
		keep = 0
	}
	all := make([]broker.Stored, len(list))
	for i, each := range list {
		c := each.config
		all[i] = broker.Stored{
			Stream: each.stream, Config: each.settings, AtLeastOnce: c.Delivery == config.AtLeastOnce,
			MaxDeliveries: c.Redelivery.Max, Backoff: c.Redelivery.Backoff, AckWait: c.Redelivery.Wait, DeadLetter: c.DeadLetter,
			Key: path(c.Key), ID: path(c.Idempotency.Key), KeepWindow: keep,
		}
	}
	return all
}

// path parses a path that config has checked; the zero Path if there is none.
func path(text string) field.Path {
	if text == "" {
		return field.Path{}
	}
	return field.MustParse(text)
}

// close waits until what was published is stored, or ctx ends, and closes the engine.
func (s *storedStreams) close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if err := s.engine.Close(ctx); err != nil {
		return fmt.Errorf("engine %s: %w", s.address, err)
	}
	return nil
}

// powerLoss says what a power failure costs with an engine.
func powerLoss(c engine.Capabilities) string {
	switch c.Sync {
	case engine.SyncAlways:
		return "a message that the node has acknowledged survives a power failure"
	case engine.SyncInterval:
		return fmt.Sprintf("a power failure costs the messages that the node has acknowledged in the last %v", c.Interval)
	case engine.SyncNever:
		return "the messages end with this process"
	default:
		return "the servers do not say when they write to their disks, so a power failure may cost messages that the node has acknowledged"
	}
}

// Engine describes the engine of the streams in one line; empty if the node has none.
func (n *Node) Engine() string {
	if n.streams == nil {
		return ""
	}
	can := n.streams.engine.Capabilities()
	var names []string
	for _, s := range n.streams.all() {
		names = append(names, s.config.Name)
	}
	return fmt.Sprintf("%s, stored by engine %s, sync %v: %s", strings.Join(names, ", "), can.Address, can.Sync, powerLoss(can))
}
