package native

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// Caller is a client's connection to a node that passes calls between its clients: *stream.Client.
type Caller interface {
	// MakeCalls returns what create has returned the first time. It has the calls that this end makes, on the present connection and on
	// all later ones.
	MakeCalls(create func() peer.Calls) (peer.Calls, error)
}

// Over is a protocol that makes calls on a connection which a client of a node has for other purposes, too. Its Dial waits for that
// connection and ignores transport and address; closing the call.Conn ends the calls and not the connection.
type Over struct{ calls *calling }

var _ call.Protocol = Over{}

// Over returns the protocol that makes calls on the connection of n. One Over at a time uses a connection: Close releases it. Of p, only
// MaxMessage counts, and the first Over of n decides about it.
func (p Protocol) Over(n Caller) (Over, error) {
	calls, err := n.MakeCalls(func() peer.Calls {
		cfg := p.resolved()
		cfg.StreamWindow = int(peer.DefaultCallLimits.StreamWindow) // the client has said so in HELLO
		return &calling{cfg: cfg, changed: make(chan struct{})}
	})
	if err != nil {
		return Over{}, err
	}
	o := Over{}
	o.calls, _ = calls.(*calling)
	return o, o.calls.claim()
}

// Close releases the connection, after its call.Conn was closed.
func (o Over) Close() { o.calls.release() }

// Name returns rpc.
func (Over) Name() string { return Protocol{}.Name() }

// Listen returns an error.
func (Over) Listen(context.Context, transport.Transport, string, call.Service) (call.Listener, error) {
	return nil, errors.New("rpc: a connection to a node does not listen: use rpc.Serve")
}

// Dial waits until the client is connected. Each connection has one call.Conn.
func (o Over) Dial(ctx context.Context, _ transport.Transport, _ string) (call.Conn, error) {
	return o.calls.await(ctx)
}

// calling has the calls that a client of a node makes on its connections.
type calling struct {
	cfg *Protocol

	mu      sync.Mutex
	claimed bool         // by an Over
	conn    *callingConn // nil between two connections
	err     error        // why there is no connection
	ended   bool         // there will be none
	changed chan struct{}
}

var _ peer.Calls = (*calling)(nil)

func (v *calling) claim() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.claimed {
		return errors.New("rpc: another rpc.Client makes calls over this connection: share it, or close it first")
	}
	v.claimed = true
	return nil
}

func (v *calling) release() {
	v.mu.Lock()
	v.claimed = false
	v.mu.Unlock()
}

// await returns a session on the present connection, or on the next one. A session that was closed is followed by another one when the
// node has ended its calls, because both would use the same numbers and the same credit.
func (v *calling) await(ctx context.Context) (call.Conn, error) {
	for {
		s, change, err := v.look()
		switch {
		case s != nil:
			return borrowed{s}, nil
		case change == nil:
			return nil, err
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// look returns the session of the present connection, or what to wait for. Without both there will be no connection.
func (v *calling) look() (s *session, change <-chan struct{}, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.ended:
		return nil, nil, v.err
	case v.conn == nil:
		return nil, v.changed, v.err
	}
	s = v.conn.session.Load()
	select {
	case <-s.left:
		return v.conn.begin(), nil, nil
	case <-s.closing:
		return nil, s.left, errors.New("rpc: calls of a closed Client are in progress on the connection")
	default:
		return s, nil, nil
	}
}

// replace makes c the present connection. The caller holds mu.
func (v *calling) replace(c *callingConn, err error) {
	v.conn, v.err = c, err
	close(v.changed)
	v.changed = make(chan struct{})
}

// Connected begins the session of calls of a new connection.
func (v *calling) Connected(c *peer.Conn, w wire.WelcomeFrame) peer.CallSession {
	k := &callingConn{owner: v, peer: c, welcome: w}
	k.begin()
	v.mu.Lock()
	defer v.mu.Unlock()
	if c.Version() < wire.CallVersion {
		v.replace(nil, fmt.Errorf("rpc: the node speaks version %d of the protocol: calls need %d", c.Version(), wire.CallVersion))
	} else {
		v.replace(k, nil)
	}
	return k
}

// Ended notes that there will be no further connection.
func (v *calling) Ended(why error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.replace(nil, why)
}

// callingConn is one connection of a calling.
type callingConn struct {
	owner   *calling
	peer    *peer.Conn
	welcome wire.WelcomeFrame
	session atomic.Pointer[session] // the present one: those before have ended
}

// begin makes another session.
func (k *callingConn) begin() *session {
	s := &session{node: true, left: make(chan struct{})}
	s.init(k.owner.cfg, k.welcome.Limits, 1)
	s.remote = call.Peer{Addr: k.peer.RemoteAddr(), TLS: k.peer.TLS()}
	s.peer = k.peer
	s.prepare(int(k.welcome.MaxFrame))
	k.session.Store(s)
	return s
}

// NewReceiver returns what handles the frames of one stream.
func (k *callingConn) NewReceiver() peer.CallReceiver { return &callingReceiver{conn: k} }

// Result does nothing: this end has offered no services.
func (k *callingConn) Result(wire.ResultFrame) {}

// Drain makes no further call, and waits until those in progress have ended.
func (k *callingConn) Drain() {
	s := k.retire()
	s.leave()
	<-s.left
}

// Closing ends the calls of the connection.
func (k *callingConn) Closing(why error) {
	s := k.retire()
	s.onClosing(why)
	s.sayLeave()
}

// retire makes the next Dial wait for another connection. It returns the last session.
func (k *callingConn) retire() *session {
	v := k.owner
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn == k {
		v.replace(nil, errors.New("rpc: the connection to the node was lost"))
	}
	return k.session.Load()
}

// callingReceiver passes the frames of one stream to the present session.
type callingReceiver struct {
	receiver
	conn *callingConn
}

func (r *callingReceiver) Handle(f wire.Frame) error {
	r.session = r.conn.session.Load()
	return r.receiver.Handle(f)
}

// borrowed is the call.Conn of a connection that the calls share with other frames.
type borrowed struct{ *session }

// Close waits until no call is in progress, or ctx ends. Then it ends the calls. The connection stays.
func (c borrowed) Close(ctx context.Context) error {
	c.leave()
	select {
	case <-c.left:
		return nil
	case <-ctx.Done():
	}
	c.abandonAll(&call.Status{Code: call.Unavailable, Message: "the client is closed"})
	return ctx.Err()
}

// abandonAll ends all calls that this end makes.
func (s *session) abandonAll(status *call.Status) {
	var ended []*outgoing
	s.mu.Lock()
	for _, o := range s.outgoing {
		if !o.abandoned {
			ended = append(ended, o)
			s.abandonLocked(o, status)
		}
	}
	ids := make([]uint32, len(ended))
	for i, o := range ended {
		ids[i] = o.id // notify gives o to another call
	}
	s.mu.Unlock()
	for i, o := range ended {
		o.notify()
		s.sendCancel(ids[i], call.Canceled)
	}
}
