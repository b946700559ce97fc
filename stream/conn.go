package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// conn is one connection of a Client.
type conn struct {
	client    *Client
	peer      *peer.Conn
	id        ferry.SourceID
	maxFrame  int
	window    int
	heartbeat time.Duration

	attaching sync.Mutex // held while a session of calls begins, before mu

	mu       sync.Mutex
	requests map[uint32]*Source // sources whose TAG has no RESULT yet, by ref
	tags     map[uint32]*Source // sources whose tag is granted, by tag number
	stored   map[uint32]bool    // those of tags that are stored
	subs     map[uint32]*subscription
	lastRef  uint32
	draining bool // no source publishes over the connection any more
	left     bool // the node has confirmed everything, and closes the connection
	welcome  native.WelcomeFrame
	served   peer.CallSession // nil unless the client serves calls
	made     peer.CallSession // nil unless the client makes calls
	closing  bool
	why      error // why the connection is closing
}

// handshake returns a connection over raw after the node has accepted it.
func handshake(c *Client, raw transport.Conn) (*conn, error) {
	cn := &conn{
		client: c, requests: map[uint32]*Source{}, tags: map[uint32]*Source{}, stored: map[uint32]bool{}, subs: map[uint32]*subscription{},
	}
	cn.peer = peer.New(raw, peer.Config{Remote: "node", Lend: true, OnDrain: cn.drain, OnClosing: cn.onClosing})
	w, err := cn.peer.Connect(native.HelloFrame{Token: c.cfg.Token, Name: c.cfg.Name, Limits: peer.DefaultCallLimits})
	if err != nil {
		return nil, err
	}
	cn.welcome = w
	cn.id, cn.maxFrame, cn.window = ferry.SourceID(w.Source), int(w.MaxFrame), int(w.Window)
	cn.heartbeat = time.Duration(w.Heartbeat) * time.Millisecond
	return cn, nil
}

// serve runs the connection until it ends, and returns the reason.
func (cn *conn) serve() error {
	go cn.peer.Beat(cn.heartbeat)
	err := peer.Serve(cn.peer, &frameHandlers, func() *receiver { return &receiver{conn: cn, tags: map[uint32]*observedTag{}} })
	if peer.IsClean(err) {
		err = errors.New("the node closed the connection")
	}
	return err
}

// writerFor returns the writer of the stream that carries a tag. It opens the stream if necessary.
func (cn *conn) writerFor(tag uint32) *peer.FrameWriter {
	n := cn.peer.Streams()
	if n == 0 {
		return cn.peer.Control()
	}
	return cn.peer.Writer(int(tag%uint32(n)), nil)
}

// frameHandlers handles the node's frames that package peer does not handle itself.
var frameHandlers = peer.Table[*receiver]{
	native.Tag: {OnData: true, Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseTag(f)
		if err == nil {
			r.announceTag(v)
		}
		return err
	}},
	native.Select: {OnData: true, Handle: func(r *receiver, f native.Frame) error {
		id, err := native.ParseNumber(f)
		if err == nil {
			r.selectSubscription(id)
		}
		return err
	}},
	native.Credit: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseCredit(f)
		if err == nil {
			r.conn.addCredit(v)
		}
		return err
	}},
	native.Result: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseResult(f)
		if err == nil {
			r.conn.handleResult(v)
		}
		return err
	}},
	native.Notice: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseNotice(f)
		if err == nil {
			r.conn.handleNotice(v)
		}
		return err
	}},
	native.Method:     {OnData: true, Handle: (*receiver).callFrame},
	native.Call:       {OnData: true, Handle: (*receiver).callFrame},
	native.Data:       {OnData: true, Handle: (*receiver).callFrame},
	native.Reply:      {OnData: true, Handle: (*receiver).callFrame},
	native.Cancel:     {OnData: true, Handle: (*receiver).callFrame},
	native.CallCredit: {OnData: true, Handle: (*receiver).callFrame},
}

func (cn *conn) addCredit(v native.CreditFrame) {
	cn.mu.Lock()
	s := cn.tags[v.Tag]
	cn.mu.Unlock()
	if s != nil {
		s.addCredit(cn, int(min(v.Bytes, maxCredit)))
	}
}

func (cn *conn) handleNotice(v native.NoticeFrame) {
	cn.mu.Lock()
	s, stored := cn.tags[v.Tag], cn.stored[v.Tag]
	cn.mu.Unlock()
	why := &native.Error{Code: v.Code, Reason: v.Reason}
	switch {
	case v.Count == 0 && s != nil:
		s.unstored.wait(cn, v.Reason)
	case v.Count == 0:
	case stored && cn.client.spooler == nil:
		s.unstored.refuse(cn, v.Count, why)
	case s != nil:
		cn.client.dropped(s.tag, v.Count, why)
	case v.Tag == native.ByName:
		cn.client.dropped("several tags", v.Count, why)
	default:
		cn.client.dropped(fmt.Sprintf("number %d", v.Tag), v.Count, why)
	}
}

// handleResult passes the result of a TAG, SUB or OFFER to what has sent it.
func (cn *conn) handleResult(v native.ResultFrame) {
	var refused error
	if v.Code != native.CodeOK {
		refused = &native.Error{Code: v.Code, Reason: v.Reason}
	}
	cn.mu.Lock()
	src, sub := cn.requests[v.Ref], cn.subs[v.Ref]
	if v.Kind == native.Tag && src != nil {
		delete(cn.requests, v.Ref)
		if refused == nil {
			cn.tags[v.Value], cn.stored[v.Value] = src, v.Stored
		}
	}
	cn.mu.Unlock()
	switch {
	case v.Kind == native.Tag && src != nil && refused != nil:
		src.refuse(refused)
	case v.Kind == native.Tag && src != nil:
		src.resume(cn, v.Value, v.Stored)
	case v.Kind == native.Sub && sub != nil:
		sub.handleResult(v, refused)
	case v.Kind == native.Offer:
		if served, _ := cn.sessions(); served != nil {
			served.Result(v)
		}
	}
}

// requestTag sends TAG for a source.
func (cn *conn) requestTag(s *Source) {
	cn.mu.Lock()
	cn.lastRef++
	ref := cn.lastRef
	cn.requests[ref] = s
	cn.mu.Unlock()
	cn.peer.Tell(func(b []byte) []byte { return native.AppendTag(b, native.TagFrame{Ref: ref, Name: s.tag}) })
}

// requestSub sends SUB for a subscription.
func (cn *conn) requestSub(s *subscription) {
	if s.frame.Stored() && cn.peer.Version() < native.StoredVersion {
		s.handleResult(native.ResultFrame{}, errNoStreams)
		return
	}
	frame := s.request(cn)
	cn.mu.Lock()
	cn.subs[s.id] = s
	cn.mu.Unlock()
	cn.peer.Tell(func(b []byte) []byte { return native.AppendSub(b, frame) })
}

// barrier waits until the node has routed all messages sent earlier, on every stream.
func (cn *conn) barrier(ctx context.Context) error {
	err := cn.peer.Barrier(ctx)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("stream: %w", err)
	}
	return err
}

// drain is called when the node announces that it is stopping. It waits until received messages are handled, calls of this client
// have ended and sent messages are confirmed. Then it tells the node that the client is done. The node sends what is left and closes the
// connection.
func (cn *conn) drain() {
	cn.mu.Lock()
	subs := make([]*subscription, 0, len(cn.subs))
	for _, s := range cn.subs {
		subs = append(subs, s)
	}
	cn.mu.Unlock()
	for _, s := range subs {
		s.pool.waitIdle(cn.peer.Context())
	}
	calls := cn.drainCalls()
	cn.client.mu.Lock()
	if cn.client.conn == cn {
		cn.client.conn = nil // Send waits for the next connection from now on
		close(cn.client.changed)
		cn.client.changed = make(chan struct{})
	}
	cn.client.mu.Unlock()
	cn.mu.Lock()
	cn.draining = true
	publishes := len(cn.tags)+len(cn.requests) > 0 // a TAG without a result counts: the node may withhold the result
	cn.mu.Unlock()
	for _, s := range cn.sources() {
		s.pause(cn)
	}
	if publishes || calls {
		if cn.barrier(cn.peer.Context()) != nil {
			return
		}
		for _, s := range subs {
			s.awaitOutputs()
		}
		cn.peer.Leave()
	}
	cn.mu.Lock()
	cn.left = true
	cn.mu.Unlock()
}

// datagramPause is about how long a process that ends reads datagrams after its last connection.
const datagramPause = 4 * time.Millisecond

// pauseAfterStop returns the pause before the client dials a node that has announced its end: none, unless the transport is QUIC. A
// datagram that the old process reads is lost, and the client sends it again after 200 ms.
func (cn *conn) pauseAfterStop() time.Duration {
	if cn.peer.Streams() > 0 {
		return datagramPause
	}
	return 0
}

// isDraining reports whether sources must wait for the next connection.
func (cn *conn) isDraining() bool {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return cn.draining
}

// sources returns the sources that have a publish grant on cn.
func (cn *conn) sources() []*Source {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	all := make([]*Source, 0, len(cn.tags))
	for _, s := range cn.tags {
		all = append(all, s)
	}
	return all
}

// close waits until the node has confirmed all messages sent, or ctx ends, and then closes the connection. A node that has ended its side may
// leave the connection open for a while, and confirms nothing more.
func (cn *conn) close(ctx context.Context) {
	cn.mu.Lock()
	left := cn.left
	cn.mu.Unlock()
	if left {
		cn.peer.Close(nil)
		return
	}
	if cn.barrier(ctx) == nil {
		cn.peer.Leave()
		cn.peer.Close(nil)
		return
	}
	cn.peer.Close(ErrClosed)
}

// keepUnsent stores messages for the next connection: on tags that are stored, all that the node has not confirmed; on others, those
// that were never passed to the transport. If there is a spool, it has them.
func (cn *conn) keepUnsent() {
	sources := cn.sources()
	for _, s := range sources {
		s.pause(cn)
	}
	if cn.client.spooler != nil {
		return
	}
	cn.mu.Lock()
	tags, stored := maps.Clone(cn.tags), maps.Clone(cn.stored)
	cn.mu.Unlock()
	unsent := map[*Source]*peer.Queue{}
	for _, w := range cn.peer.Writers() {
		w.TakeUnsent(func(frames []byte) {
			for ; len(frames) > 0; frames = frames[native.Size(frames):] {
				f := native.Frame(frames[:native.Size(frames)])
				if f.Kind() != native.Pub || stored[f.Tag()] {
					continue
				}
				if s := tags[f.Tag()]; s != nil {
					if unsent[s] == nil {
						unsent[s] = &peer.Queue{}
					}
					unsent[s].Push(f, nil)
				}
			}
		})
	}
	for _, s := range sources {
		s.unstored.requeue(cn, unsent[s])
	}
}
