package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// Local is a client of the Broker within the process, such as a device that another protocol serves. It has no goroutine, no socket and
// no frames, and it obeys the same rules as a client with a connection: identity, grants, limits and validation. All methods may
// overlap. None of them may be called in a method of its LocalHandler, except in Flush, Drain and Closed.
type Local struct {
	session *session
	out     localOutlet
	phase   atomic.Int32 // a localPhase
	lastSub atomic.Uint32

	life *localLife // nil until it is used; guarded by the lock of out
}

// localLife is a context that ends with the client.
type localLife struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// The phases of a Local.
//
//	localOpen ──drain──► localDraining ──close, Close──► localClosed
//	     └──────────────────close, Close──────────────────────┘
const (
	localOpen int32 = iota
	localDraining
	localClosed
)

// LocalHandler receives what the Broker has for a Local. Its methods are called on any goroutine and must not block. Deliver, Ready,
// Opened and Ended are called with locks held: they append to a queue of the handler and return.
type LocalHandler interface {
	// Deliver passes messages of one subscription, in order. They are borrowed until Deliver returns. If it takes fewer than
	// run.Len(), the others stay where they are, and the client gets nothing more until Local.Resume.
	Deliver(s *LocalSub, run *Run) (taken int)

	// Flush follows one or more calls of Deliver, when what was published together was delivered. The handler wakes the goroutine
	// that writes to its peer.
	Flush()

	// Ready says that t has credit again after Batch.Publish has taken fewer messages than it was given.
	Ready(t *LocalTag)

	// Opened says where a subscription that reads a stream begins: messages that are stored from now on are part of it.
	Opened(s *LocalSub)

	// Ended says that the Broker has ended a subscription: a grant was taken away, a stream is no longer configured, or a stored
	// subscription could not begin.
	Ended(s *LocalSub, why error)

	// Drain asks the client to leave: it settles what it holds and calls Local.Close.
	Drain(reason string)

	// Closed says that the Broker has ended the client. It does not follow Local.Close. why is not nil.
	Closed(why error)
}

// LocalConfig says who a Local is.
type LocalConfig struct {
	Name string // shown beside the identity; "" means the identity's name
	User string // that the client gives, for logs
	Addr string // of the peer, for logs

	// Token and TLS identify the client, as for a connection: see Config.Identify.
	Token []byte
	TLS   *tls.ConnectionState

	// Identity is who the client is, if it has proved that already: what Listener.Password has returned. Token and TLS mean nothing then.
	Identity *Identity

	// Anonymous is the name of the identity of a client that has neither token nor verified certificate; "" refuses such clients.
	// Its Credential must be Open.
	Anonymous string

	Handler LocalHandler
}

// localListener is what a Listener without connections listens on.
type localListener struct{ addr net.Addr }

var _ transport.Listener = localListener{}

func (l localListener) Accept(context.Context) (transport.Conn, error) { return nil, net.ErrClosed }
func (l localListener) Addr() net.Addr                                 { return l.addr }
func (l localListener) Close() error                                   { return nil }

// NewLocalListener returns a Listener whose clients are in the process: Connect adds one. addr is what its owner listens at. The Listener
// needs no Serve. v says how thoroughly the clients' payloads are validated.
func (b *Broker) NewLocalListener(addr net.Addr, v Validation) *Listener {
	return b.NewListener(localListener{addr}, v)
}

// Connect adds a client. It counts as a connection until Close or GiveUpPlace. The error is a *native.Error.
func (l *Listener) Connect(c LocalConfig) (*Local, error) {
	b := l.broker
	cfg := b.cfg.Load()
	identity, err := c.Identity, error(nil)
	if identity == nil {
		identity, err = b.identifyLocal(cfg, &c)
	}
	if err != nil {
		if due, unlogged := l.refusals.next(time.Now()); due {
			cfg.Log.Warn("identity refused", "addr", c.Addr, "user", c.User, "name", c.Name, "err", err, "unlogged", unlogged)
		}
		b.countRefusal(native.CodeUnauthenticated)
		return nil, unauthenticated
	}
	local := &Local{}
	local.out.handler = c.Handler
	s := &session{listener: l, cfg: cfg, client: local}
	s.is(identity, c.Name, c.Addr)
	local.session = s
	b.mu.Lock()
	err = b.admit(s, c.TLS)
	b.mu.Unlock()
	if err != nil {
		if e, ok := err.(*native.Error); ok { //nolint:errorlint // admit does not wrap
			b.countRefusal(e.Code)
		}
		return nil, err
	}
	return local, nil
}

// logGate limits the lines in the log about something that peers can cause at the rate of their requests or messages to one a second.
type logGate struct {
	last     atomic.Int64 // time of the last line, as clock.Now
	unlogged atomic.Int64 // events since then
}

// next reports whether a line is due, and how many events since the last one had none.
func (r *logGate) next(now time.Time) (due bool, unlogged int64) {
	last, at := r.last.Load(), clock.At(now)
	if at-last < int64(time.Second) || !r.last.CompareAndSwap(last, at) {
		r.unlogged.Add(1)
		return false, 0
	}
	return true, r.unlogged.Swap(0)
}

// identifyLocal returns the identity of a client.
func (b *Broker) identifyLocal(cfg *Config, c *LocalConfig) (*Identity, error) {
	if c.Anonymous != "" && len(c.Token) == 0 && (c.TLS == nil || len(c.TLS.VerifiedChains) == 0) {
		b.mu.Lock()
		known := b.identities
		b.mu.Unlock()
		if known != nil {
			if identity := known.Anonymous(c.Anonymous); identity != nil {
				return identity, nil
			}
		}
	}
	return cfg.Identify(c.Token, c.TLS)
}

// Password returns what Identities.Password does for the present identities. known says that token is that of one of them.
func (l *Listener) Password(user string, token []byte) (hash string, identity *Identity, known bool) {
	l.broker.mu.Lock()
	all := l.broker.identities
	l.broker.mu.Unlock()
	if all == nil || len(all.hashes) == 0 {
		return "", nil, false
	}
	hash, identity = all.Password(user)
	return hash, identity, all.byToken(HashToken(token)) != nil
}

// KnowsToken reports whether an identity has the token.
func (l *Listener) KnowsToken(token []byte) bool {
	l.broker.mu.Lock()
	all := l.broker.identities
	l.broker.mu.Unlock()
	return all != nil && all.byToken(HashToken(token)) != nil
}

// Granted returns the identity, for LocalConfig.Identity, of a user whose login a callback has decided. It has the grants of the identity like or, if that is
// "", publish and subscribe. A user that has the name of an identity is refused.
func (l *Listener) Granted(user, like string, publish, subscribe []string) (*Identity, error) {
	l.broker.mu.Lock()
	all := l.broker.identities
	l.broker.mu.Unlock()
	if all == nil {
		return nil, errors.New("broker: there are no identities")
	}
	return all.granted(user, like, publish, subscribe)
}

// Stores reports whether one stream stores all tags of a filter, so that a subscription can read them from it.
func (b *Broker) Stores(filter string) bool {
	_, err := b.store.Covering(filter)
	return err == nil
}

// AtLeastOnce returns the stream that stores all tags of a filter at least once. ok is false if there is none: a durable needs one.
func (b *Broker) AtLeastOnce(filter string) (stream string, ok bool) {
	return b.store.AtLeastOnce(filter)
}

// Waiting says of each stream that stores nothing while messages wait why that is.
func (b *Broker) Waiting() []string { return b.store.Waiting() }

// ForgetDurable forgets what the Broker knows of a durable, so that its cursor can be deleted. The error says that it has members.
func (b *Broker) ForgetDurable(stream, name string) error { return b.store.ForgetDurable(stream, name) }

// ID returns the source of the messages that the client publishes. IDs count up, modulo 2^32, in the order in which clients are added.
func (c *Local) ID() ferry.SourceID { return c.session.id }

// Identity returns the present identity of the client.
func (c *Local) Identity() *Identity { return c.session.identity.Load() }

// GiveUpPlace makes the client count no longer for Config.MaxConnections. It is for one that its owner keeps without a connection, within bounds of its own.
func (c *Local) GiveUpPlace() {
	b := c.session.listener.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveUpPlace(c.session)
}

// Resume makes the Broker deliver again, after LocalHandler.Deliver has taken fewer messages than it was given.
func (c *Local) Resume() {
	c.out.mu.Lock()
	if c.out.closed || !c.out.full {
		c.out.mu.Unlock()
		return
	}
	c.out.full = false
	if c.out.roomChanged != nil {
		close(c.out.roomChanged)
		c.out.roomChanged = nil
	}
	after := c.session.control.Refill() // it is there: the handler was given messages
	c.out.Unlock()
	if after != nil {
		after()
	}
}

// Close ends the client: its subscriptions, its grants, and its place among the connections. Messages that wait to be stored are
// stored, and their callbacks may still be called. Further calls have no effect.
func (c *Local) Close() { c.end() }

// end removes the client from the Broker, once. It reports whether this call did.
func (c *Local) end() bool {
	if c.phase.Swap(localClosed) == localClosed {
		return false
	}
	c.session.listener.broker.removeSession(c.session)
	c.out.mu.Lock()
	c.out.closed = true
	if c.life != nil {
		c.life.cancel()
	}
	if c.out.roomChanged != nil {
		close(c.out.roomChanged)
		c.out.roomChanged = nil
	}
	c.out.mu.Unlock()
	c.session.listener.broker.endSession(c.session)
	return true
}

func (c *Local) close(why error) {
	if !c.end() {
		return
	}
	if e, ok := why.(*native.Error); ok { //nolint:errorlint // the broker passes a bare *native.Error
		c.session.listener.broker.countRefusal(e.Code)
	}
	if why == nil {
		why = &native.Error{Code: native.CodeDraining, Reason: "the node is stopping"}
	}
	c.out.handler.Closed(why)
}

func (c *Local) abort() {}

func (c *Local) context() context.Context {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.life == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c.life = &localLife{ctx, cancel}
		if c.out.closed {
			cancel()
		}
	}
	return c.life.ctx
}

func (c *Local) drain(reason string) {
	if c.phase.CompareAndSwap(localOpen, localDraining) {
		c.out.handler.Drain(reason)
	}
}

func (c *Local) draining() bool { return c.phase.Load() == localDraining }
func (c *Local) written() bool  { return true }

func (c *Local) granted(p *publisher, _ []native.ResultFrame) { c.credit(p, 0) }

func (c *Local) credit(p *publisher, _ int) {
	if t := p.local.Load(); t != nil && t.starved.CompareAndSwap(true, false) {
		c.out.handler.Ready(t)
	}
}

// notice does nothing: Batch.Publish has returned the error of a message that was dropped.
func (c *Local) notice(native.NoticeFrame) {}

func (c *Local) opened(handle any, result native.ResultFrame, why error) {
	if why != nil {
		c.ended(handle, result, why)
		return
	}
	c.out.handler.Opened(handle.(*LocalSub)) //nolint:forcetypeassert // Subscribe has set it
}

func (c *Local) ended(handle any, _ native.ResultFrame, why error) {
	c.out.handler.Ended(handle.(*LocalSub), why) //nolint:forcetypeassert // Subscribe has set it
}
