package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/redial"
	"example.com/ferry/link/spool"
	"example.com/ferry/transport"
)

// Client is one connection to a node. If the connection is lost, the Client dials again and resumes its sources and
// functions. All methods may overlap.
type Client struct {
	transport transport.Transport
	addr      string
	cfg       Config
	ctx       context.Context // ends when Close is called
	cancel    context.CancelFunc
	ended     chan struct{} // closed when run has returned
	stats     counters
	spooler   *spooler // nil without Config.Spool

	mu      sync.Mutex
	conn    *conn         // current connection; nil if messages cannot be sent now
	serving *conn         // conn, or a previous connection whose node is stopping
	changed chan struct{} // closed and replaced when conn changes
	dialErr error         // of the last attempt to connect, while there is no connection
	sources map[string]*Source
	running map[uint32]*subscription
	lastSub uint32
	served  peer.Calls // nil unless the client serves calls
	made    peer.Calls // nil until the client makes calls
	notices []error    // errors about dropped messages, since the last Flush
	unnamed uint64     // dropped messages since the last Flush that notices has no room for
}

type counters struct {
	connects, handled, failed, dropped atomic.Uint64
}

// Stats is a copy of a Client's counters at one moment.
type Stats struct {
	Connected bool
	Connects  uint64 // connections made: 1 if the first was never lost
	Handled   uint64 // messages passed to handlers
	Failed    uint64 // messages whose handler returned an error or panicked; of a batch one, or each in the ferry.BatchError

	// Dropped counts the messages that Send has accepted and that are lost: see Config.OnDropped.
	Dropped uint64

	// Messages that Send has accepted, and that are not stored yet or, on a tag that is not stored, wait for a connection.
	Waiting      int
	WaitingBytes int    // with headers
	WaitingFor   string // why the node stores nothing on one of the tags for now; empty if it does

	// Of Config.Spool.
	Spool        spool.Stats
	SpoolErr     error  // why its messages are not published now; nil if they are
	SpoolDropped uint64 // messages that the node can never take
}

// Dial connects to the node at addr (host:port for tcp, tls and quic). It returns once the node has accepted the
// client, or at once if there is a Config.Spool.
func Dial(ctx context.Context, t transport.Transport, addr string, cfg *Config) (*Client, error) {
	c := &Client{
		transport: t, addr: addr, cfg: cfg.filled(), ended: make(chan struct{}), changed: make(chan struct{}),
		sources: map[string]*Source{}, running: map[uint32]*subscription{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if c.cfg.Spool != nil {
		c.spooler = &spooler{client: c, spool: c.cfg.Spool, ended: make(chan struct{})}
		go c.run(nil)
		go c.spooler.run()
		return c, nil
	}
	first, err := c.connect(ctx)
	if err != nil {
		c.cancel()
		return nil, fmt.Errorf("stream: connect to %s://%s: %w", t.Scheme(), addr, err)
	}
	c.setConn(first)
	go c.run(first)
	return c, nil
}

// run serves cn, and every later connection, until Close. If cn is nil, it dials the first one.
func (c *Client) run(cn *conn) {
	defer close(c.ended)
	pause := &redial.Pause{Min: c.cfg.MinBackoff, Max: c.cfg.MaxBackoff}
	if cn == nil {
		if cn = c.dial(pause); cn == nil {
			return
		}
		c.setConn(cn)
	}
	for {
		if c.ctx.Err() != nil {
			cn.peer.Close(ErrClosed) // Close was called while cn was dialled
		}
		start := time.Now()
		err := cn.serve()
		c.setConn(nil)
		cn.keepUnsent()
		if c.ctx.Err() != nil {
			return
		}
		c.cfg.Log.Info("stream: connection lost, dialling again", "addr", c.addr, "err", err)
		lasted := time.Since(start)
		if cn.peer.PeerDraining() && lasted > c.cfg.MinBackoff {
			// The node may have passed its sockets to another process. Connections wait in them until that process accepts them.
			// If there are many, the node closes them one after another, so that not all clients dial now.
			pause.Reset()
			redial.Wait(c.ctx, cn.pauseAfterStop(), nil)
		} else {
			pause.Ended(lasted)
			pause.Wait(c.ctx, nil)
		}
		if cn = c.dial(pause); cn == nil {
			return
		}
		c.setConn(cn)
	}
}

// dial dials until there is a connection. It returns nil if Close is called before.
func (c *Client) dial(pause *redial.Pause) *conn {
	for c.ctx.Err() == nil {
		cn, err := c.connect(c.ctx)
		if err == nil {
			return cn
		}
		if c.ctx.Err() != nil {
			return nil
		}
		c.mu.Lock()
		c.dialErr = err
		c.mu.Unlock()
		c.cfg.Log.Debug("stream: dialling failed", "addr", c.addr, "err", err)
		pause.Wait(c.ctx, nil)
	}
	return nil
}

// connect dials the node and does the handshake.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	raw, err := c.transport.Dial(ctx, c.addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	cn, err := handshake(c, raw)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		return nil, err
	}
	c.stats.connects.Add(1)
	return cn, nil
}

// setConn makes cn the current connection; nil means none. On cn it requests the tags and subscriptions of all sources
// and functions.
func (c *Client) setConn(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.serving, c.dialErr = cn, cn, nil
	if cn != nil {
		for _, s := range c.sources {
			cn.requestTag(s)
		}
		for _, s := range c.running {
			cn.requestSub(s)
		}
		c.attachCalls(cn)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// current returns the connection, or nil if there is none. The channel is closed when the connection changes.
func (c *Client) current() (*conn, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn, c.changed
}

// ID returns the node's number for this client. Other clients address this client by setting Message.To to that number.
// Each connection has another number. Without a connection ID returns 0.
func (c *Client) ID() ferry.SourceID {
	if cn, _ := c.current(); cn != nil {
		return cn.id
	}
	return 0
}

// Stats returns a copy of the counters.
func (c *Client) Stats() Stats {
	cn, _ := c.current()
	s := Stats{
		Connected: cn != nil, Connects: c.stats.connects.Load(), Handled: c.stats.handled.Load(), Failed: c.stats.failed.Load(),
		Dropped: c.stats.dropped.Load(),
	}
	for _, src := range c.allSources() {
		_, messages, bytes, reason := src.unstored.state()
		s.Waiting += messages
		s.WaitingBytes += bytes
		if reason != "" {
			s.WaitingFor = reason
		}
	}
	if c.spooler != nil {
		s.Spool = c.cfg.Spool.Stats()
		s.SpoolDropped, s.SpoolErr = c.spooler.state()
	}
	return s
}

// allSources returns the sources.
func (c *Client) allSources() []*Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.sources))
}

// wait returns when ch is closed, ctx ends, or the client is closed.
func (c *Client) wait(ctx context.Context, ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		if cn, _ := c.current(); cn == nil {
			return fmt.Errorf("stream: not connected to %s: %w", c.addr, ctx.Err())
		}
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
}
