package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

// Engine stores streams in JetStream. All methods may overlap.
type Engine struct {
	caps    engine.Capabilities
	log     *slog.Logger
	write   *natsgo.Conn // appends
	read    *natsgo.Conn // everything else
	js      jetstream.JetStream
	session string // of this Engine, in the entries of cursors

	cut     broadcast     // a connection was lost
	payload atomic.Int64  // largest message that the server takes, in bytes
	serial  atomic.Uint64 // of consumers and sessions
	closing chan struct{} // closed by Close after the streams have ended

	mu      sync.Mutex
	streams map[string]*stream
	closed  bool
}

var _ engine.Engine = (*Engine)(nil)

// inboxPrefix begins the subjects on which the engine receives records and acknowledgements.
const inboxPrefix = "_FERRY"

// newEngine connects with the options until it succeeds or ctx ends.
func newEngine(ctx context.Context, caps engine.Capabilities, log *slog.Logger, url string, options ...natsgo.Option) (*Engine, error) {
	e := &Engine{
		caps: caps, log: log, session: rand.Text()[:12],
		closing: make(chan struct{}), streams: make(map[string]*stream),
	}
	options = append([]natsgo.Option{
		natsgo.CustomInboxPrefix(inboxPrefix + "." + rand.Text()),
		natsgo.MaxReconnects(-1),
		natsgo.ReconnectWait(50 * time.Millisecond),
		natsgo.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		natsgo.ReconnectBufSize(-1), // what cannot be sent now is an error, and tried again
		natsgo.Timeout(2 * time.Second),
		natsgo.PingInterval(2 * time.Second),
		natsgo.MaxPingsOutstanding(2),
		natsgo.SkipSubjectValidation(),
		natsgo.DisconnectErrHandler(func(_ *natsgo.Conn, err error) {
			e.cut.send()
			if err != nil {
				log.Warn("engine: the connection to NATS is lost", "addr", caps.Address, "err", err)
			}
		}),
		natsgo.ReconnectHandler(func(c *natsgo.Conn) {
			e.payload.Store(c.MaxPayload())
			log.Info("engine: connected to NATS again", "addr", caps.Address, "server", c.ConnectedServerName())
		}),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, sub *natsgo.Subscription, err error) {
			log.Warn("engine: NATS connection", "err", err)
		}),
	}, options...)
	var err error
	if e.write, err = connect(ctx, url, append(options, natsgo.Name("ferry: append"))); err != nil {
		return nil, fmt.Errorf("engine: connect to %s: %w", caps.Address, err)
	}
	if e.read, err = connect(ctx, url, append(options, natsgo.Name("ferry"))); err != nil {
		e.write.Close()
		return nil, fmt.Errorf("engine: connect to %s: %w", caps.Address, err)
	}
	e.payload.Store(e.write.MaxPayload())
	if e.js, err = jetstream.New(e.read); err != nil {
		e.write.Close()
		e.read.Close()
		return nil, err
	}
	return e, nil
}

// connect tries until it succeeds, ctx ends, or an attempt fails for a reason that stays, such as wrong credentials.
func connect(ctx context.Context, url string, options []natsgo.Option) (*natsgo.Conn, error) {
	for {
		c, err := natsgo.Connect(url, options...)
		if err == nil {
			return c, nil
		}
		var network net.Error
		if !errors.As(err, &network) && !errors.Is(err, natsgo.ErrNoServers) && !errors.Is(err, natsgo.ErrTimeout) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Capabilities implements engine.Engine.
func (e *Engine) Capabilities() engine.Capabilities { return e.caps }

// Open implements engine.Engine.
func (e *Engine) Open(ctx context.Context, c engine.Config) (engine.Stream, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if e.isClosed() {
		return nil, engine.ErrClosed
	}
	if c.Replicas > e.caps.MaxReplicas {
		return nil, &engine.UnsupportedError{
			Engine: e.caps.Name, Stream: c.Name, Field: "replicas",
			Why: fmt.Sprintf("%d copies asked for, %s has at most %d", c.Replicas, e.caps.Address, e.caps.MaxReplicas),
		}
	}
	if err := e.supported(c); err != nil {
		return nil, err
	}
	last, err := e.create(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := e.opened(c, last)
	if err != nil {
		return nil, err
	}
	s.config.Store(&c)
	return s, nil
}

// opened returns the stream with the name of c, which ends with last.
func (e *Engine) opened(c engine.Config, last uint64) (s *stream, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, engine.ErrClosed
	}
	if s = e.streams[c.Name]; s == nil {
		if s, err = newStream(e, c, last); err != nil {
			return nil, err
		}
		e.streams[c.Name] = s
	}
	return s, nil
}

// Stream implements engine.Engine.
func (e *Engine) Stream(ctx context.Context, name string) (engine.Stream, error) {
	if e.isClosed() {
		return nil, engine.ErrClosed
	}
	info, err := e.view(name).jsInfo(ctx)
	if err != nil {
		return nil, err
	}
	c, ours := configOf(info.Config)
	if !ours {
		return nil, engine.ErrNoStream
	}
	s, err := e.opened(c, info.State.LastSeq)
	if err != nil {
		return nil, err // not a nil *stream
	}
	return s, nil
}

// create creates or changes the JetStream stream. It returns the sequence number of its last record.
func (e *Engine) create(ctx context.Context, c engine.Config) (last uint64, err error) {
	want := streamConfig(c)
	end := time.Now().Add(peersWithin)
	s, err := request(ctx, e, func(ctx context.Context) (s jetstream.Stream, err error) {
		defer func() {
			var api *jetstream.APIError
			if errors.As(err, &api) && api.ErrorCode == codeNoPeers && time.Now().Before(end) {
				err = fmt.Errorf("%w: %s", natsgo.ErrNoResponders, api.Description) // transient: servers may still be starting
			}
		}()
		old, err := e.js.Stream(ctx, want.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return e.js.CreateStream(ctx, want)
		case err != nil:
			return nil, err
		}
		had := old.CachedInfo().Config
		if had.Metadata[metaCopy] != "" {
			return nil, fmt.Errorf("engine: stream %q at %s is a copy that is not complete: wait for ferry stream copy, or start it again", c.Name, e.caps.Address)
		}
		if _, ours := configOf(had); !ours {
			return nil, fmt.Errorf("engine: the JetStream stream %s at %s is not ferry's: rename it, or the stream %q", want.Name, e.caps.Address, c.Name)
		}
		if had.Storage != want.Storage {
			return nil, &engine.UnsupportedError{
				Engine: e.caps.Name, Stream: c.Name, Field: "storage",
				Why: fmt.Sprintf("the stream exists with storage %s: delete it first", had.Storage),
			}
		}
		for key, value := range had.Metadata {
			if _, ok := want.Metadata[key]; !ok {
				want.Metadata[key] = value
			}
		}
		want.FirstSeq, want.AllowMsgTTL = had.FirstSeq, had.AllowMsgTTL // of a copy
		return e.js.UpdateStream(ctx, want)
	})
	if err == nil {
		return s.CachedInfo().State.LastSeq, nil
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeOverlap {
		return 0, e.overlap(ctx, c, err)
	}
	return 0, openError(e.caps.Name, c, err)
}

const (
	codeNoPeers = 10005 // no suitable peers for placement
	codeOverlap = 10065
	peersWithin = 5 * time.Second
)

// overlap names the stream that has tags of c.
func (e *Engine) overlap(ctx context.Context, c engine.Config, err error) error {
	all, listErr := e.List(ctx)
	if listErr != nil {
		return err
	}
	for _, other := range all {
		if err := c.CheckBeside(other.Config); err != nil {
			return err
		}
	}
	return fmt.Errorf("engine: stream %q: its subjects (%q) overlap those of a JetStream stream that is not ferry's", c.Name, streamConfig(c).Subjects)
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// List implements engine.Engine.
func (e *Engine) List(ctx context.Context) ([]engine.Info, error) {
	all, err := request(ctx, e, func(ctx context.Context) (all []*jetstream.StreamInfo, err error) {
		l := e.js.ListStreams(ctx)
		for info := range l.Info() {
			all = append(all, info)
		}
		return all, l.Err()
	})
	if err != nil {
		return nil, err
	}
	var list []engine.Info
	for _, info := range all {
		if _, ours := configOf(info.Config); ours {
			list = append(list, e.info(info))
		}
	}
	slices.SortFunc(list, func(a, b engine.Info) int { return strings.Compare(a.Config.Name, b.Config.Name) })
	return list, nil
}

// Delete implements engine.Engine.
func (e *Engine) Delete(ctx context.Context, name string) error {
	// If the server still removes the files of an earlier stream of that name, it keeps those of this one, and the next stream of
	// the name would get its records.
	if _, err := e.view(name).purge(ctx, "", 0); err != nil {
		return err
	}
	if err := e.deleteStream(ctx, streamPrefix+name); err != nil {
		return err
	}
	e.mu.Lock()
	s := e.streams[name]
	delete(e.streams, name)
	e.mu.Unlock()
	if s != nil {
		s.end(engine.ErrNoStream)
	}
	return nil
}

// Close implements engine.Engine.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	streams := make([]*stream, 0, len(e.streams))
	for _, s := range e.streams {
		streams = append(streams, s)
	}
	e.mu.Unlock()
	var err error
	for _, s := range streams {
		err = errors.Join(err, s.drain(ctx))
	}
	for _, s := range streams {
		s.end(engine.ErrClosed)
	}
	close(e.closing)
	e.write.Close()
	e.read.Close()
	return err
}
