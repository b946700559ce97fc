package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/internal/link"
	"example.com/ferry/transport"
)

// outLimit is how many bytes wait for one write before Send blocks.
const outLimit = 256 << 10

// conn is one connection of a Client, from handshake to loss.
type conn struct {
	client    *Client
	raw       transport.Conn
	multi     transport.Multi // nil: everything goes over the control stream
	inlet     *link.Inlet
	id        ferry.SourceID
	maxFrame  int
	window    int
	heartbeat time.Duration
	control   *link.Outlet
	ctx       context.Context // ends with the connection
	cancel    context.CancelCauseFunc

	mu      sync.Mutex
	data    []*link.Outlet // by tag number % len; nil until used
	inlets  map[*link.Inlet]bool
	tagRefs map[uint32]*Source // asked for
	tags    map[uint32]*Source // granted
	subs    map[uint32]*subscription
	pings   map[uint64]chan struct{}
	lastRef uint32
	lastVal uint64
}

// greet does the handshake over raw.
func greet(c *Client, raw transport.Conn) (*conn, error) {
	hello := native.HelloFrame{MinVersion: native.Version, MaxVersion: native.Version, Token: c.cfg.Token, Name: c.cfg.Name}
	if n := len(hello.Token) + len(hello.Name); n > native.MaxHandshake-64 {
		return nil, fmt.Errorf("token and name of %d bytes: at most %d", n, native.MaxHandshake-64)
	}
	if _, err := raw.Write(native.AppendHello(nil, hello)); err != nil {
		return nil, err
	}
	inlet := link.NewInlet(raw, native.MaxHandshake)
	f, err := inlet.First()
	if err != nil {
		inlet.Close()
		if errors.Is(err, io.EOF) {
			err = errors.New("the node closed the connection before it said who it is: is this a ferry node?")
		}
		return nil, err
	}
	w, err := welcomed(f)
	if err != nil {
		inlet.Close()
		return nil, err
	}
	w.MaxFrame, w.Window = min(w.MaxFrame, 1<<30), min(w.Window, maxCredit)
	inlet.SetMaxFrame(int(w.MaxFrame))
	cn := &conn{
		client: c, raw: raw, inlet: inlet, id: ferry.SourceID(w.Source), maxFrame: int(w.MaxFrame), window: int(w.Window),
		heartbeat: time.Duration(w.Heartbeat) * time.Millisecond, control: link.NewOutlet(outLimit),
		inlets: map[*link.Inlet]bool{}, tagRefs: map[uint32]*Source{}, tags: map[uint32]*Source{}, subs: map[uint32]*subscription{},
		pings: map[uint64]chan struct{}{},
	}
	cn.ctx, cn.cancel = context.WithCancelCause(context.Background())
	if m, ok := raw.(transport.Multi); ok && w.Streams > 0 {
		cn.multi, cn.data = m, make([]*link.Outlet, w.Streams)
	}
	return cn, nil
}

func welcomed(f native.Frame) (w native.WelcomeFrame, err error) {
	switch f.Kind() {
	case native.Welcome:
		if w, err = native.ParseWelcome(f); err == nil && (w.Version != native.Version || w.MaxFrame < native.PubHeaderSize || w.Heartbeat == 0) {
			err = &native.Error{Code: native.CodeProtocol, Reason: "a WELCOME that cannot be"}
		}
		return w, err
	case native.Goaway:
		g, err := native.ParseGoaway(f)
		if err == nil {
			err = &native.Error{Code: g.Code, Reason: g.Reason}
		}
		return w, err
	}
	return w, &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("%v frame before WELCOME", f.Kind())}
}

// serve runs the connection until it is lost, and returns why.
func (cn *conn) serve() error {
	go func() {
		if err := cn.control.Run(cn.raw); err != nil {
			cn.cancel(err)
		}
	}()
	if cn.multi != nil {
		go cn.acceptStreams()
	}
	go cn.beat()
	go cn.read(cn.inlet, true)
	<-cn.ctx.Done()
	_ = cn.raw.Close()
	for _, o := range cn.outlets() {
		o.Close()
		<-o.Done()
	}
	return context.Cause(cn.ctx)
}

// outlets returns the streams in use.
func (cn *conn) outlets() []*link.Outlet {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	outs := []*link.Outlet{cn.control}
	for _, o := range cn.data {
		if o != nil {
			outs = append(outs, o)
		}
	}
	return outs
}

// outletFor returns the stream that a tag is published on, and opens it if it is new.
func (cn *conn) outletFor(tag uint32) *link.Outlet {
	if cn.multi == nil {
		return cn.control
	}
	cn.mu.Lock()
	defer cn.mu.Unlock()
	i := int(tag) % len(cn.data)
	if cn.data[i] == nil {
		o := link.NewOutlet(outLimit)
		cn.data[i] = o
		go func() {
			if err := link.RunData(cn.ctx, cn.multi, i, o); err != nil {
				cn.cancel(err)
			}
		}()
	}
	return cn.data[i]
}

func (cn *conn) acceptStreams() {
	for {
		stream, err := cn.multi.AcceptStream(cn.ctx)
		if err != nil {
			return // the connection has ended: its control stream says why
		}
		go cn.read(link.NewInlet(link.Joined(stream), cn.maxFrame), false)
	}
}

// beat shows the node that the client lives, and gives the connection up when the node does not.
func (cn *conn) beat() {
	tick := time.NewTicker(cn.heartbeat)
	defer tick.Stop()
	var last uint64
	for silent := 0; ; silent++ {
		select {
		case <-cn.ctx.Done():
			return
		case <-tick.C:
		}
		var reads uint64
		cn.mu.Lock()
		for in := range cn.inlets {
			n, _ := in.Progress()
			reads += n
		}
		cn.mu.Unlock()
		if reads != last {
			last, silent = reads, 0
		}
		if silent >= 3 {
			cn.cancel(fmt.Errorf("nothing was heard of the node for %v", 3*cn.heartbeat))
			return
		}
		cn.tell(func(b []byte) []byte { return native.AppendPing(b, false, 0) })
	}
}

// tell appends a control frame.
func (cn *conn) tell(appendTo func([]byte) []byte) {
	cn.control.Lock()
	if !cn.control.Closed() {
		cn.control.SetTail(appendTo(cn.control.Tail(4 << 10)))
	}
	cn.control.Unlock()
}

// read takes what arrives on one stream.
func (cn *conn) read(inlet *link.Inlet, control bool) {
	cn.mu.Lock()
	cn.inlets[inlet] = true
	cn.mu.Unlock()
	r := &reader{conn: cn, inlet: inlet, tags: map[uint32]*observedTag{}}
	err := r.loop()
	cn.mu.Lock()
	delete(cn.inlets, inlet)
	cn.mu.Unlock()
	inlet.Close()
	if control || !errors.Is(err, io.EOF) {
		if errors.Is(err, io.EOF) {
			err = errors.New("the node closed the connection")
		}
		cn.cancel(err)
	}
}

// handle takes a control frame.
func (cn *conn) handle(f native.Frame) error {
	switch f.Kind() {
	case native.Ping:
		v, err := native.ParsePing(f)
		if err != nil {
			return err
		}
		if f.Flags()&native.FlagAck == 0 {
			cn.tell(func(b []byte) []byte { return native.AppendPing(b, true, v) })
			return nil
		}
		cn.mu.Lock()
		if ch := cn.pings[v]; ch != nil {
			close(ch)
			delete(cn.pings, v)
		}
		cn.mu.Unlock()
	case native.Credit:
		v, err := native.ParseCredit(f)
		if err != nil {
			return err
		}
		cn.mu.Lock()
		s := cn.tags[v.Tag]
		cn.mu.Unlock()
		if s != nil {
			s.credit(cn, int(min(v.Bytes, maxCredit)))
		}
	case native.Result:
		v, err := native.ParseResult(f)
		if err != nil {
			return err
		}
		cn.result(v)
	case native.Notice:
		v, err := native.ParseNotice(f)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("number %d", v.Tag)
		cn.mu.Lock()
		if s := cn.tags[v.Tag]; s != nil {
			name = s.tag
		}
		cn.mu.Unlock()
		cn.client.noticed(fmt.Errorf("stream: %d messages on tag %s were dropped: %w", v.Count, name, &native.Error{Code: v.Code, Reason: v.Reason}))
	case native.Goaway:
		v, err := native.ParseGoaway(f)
		if err != nil {
			return err
		}
		if v.Code == native.CodeDraining {
			go cn.retire()
			return nil
		}
		return &native.Error{Code: v.Code, Reason: v.Reason}
	default:
		return &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("%v frame from a node", f.Kind())}
	}
	return nil
}

// result takes the answer to TAG or SUB.
func (cn *conn) result(v native.ResultFrame) {
	var refused error
	if v.Code != native.CodeOK {
		refused = &native.Error{Code: v.Code, Reason: v.Reason}
	}
	cn.mu.Lock()
	src, sub := cn.tagRefs[v.Ref], cn.subs[v.Ref]
	if v.Kind == native.Tag && src != nil {
		delete(cn.tagRefs, v.Ref)
		if refused == nil {
			cn.tags[v.Value] = src
		}
	}
	cn.mu.Unlock()
	switch {
	case v.Kind == native.Tag && src != nil && refused != nil:
		src.refuse(refused)
	case v.Kind == native.Tag && src != nil:
		src.grant(cn, v.Value)
	case v.Kind == native.Sub && sub != nil:
		sub.answered(refused)
	}
}

// askTag asks for a tag's number.
func (cn *conn) askTag(s *Source) {
	cn.mu.Lock()
	cn.lastRef++
	ref := cn.lastRef
	cn.tagRefs[ref] = s
	cn.mu.Unlock()
	cn.tell(func(b []byte) []byte { return native.AppendTag(b, native.TagFrame{Ref: ref, Name: s.tag}) })
}

// askSub subscribes.
func (cn *conn) askSub(s *subscription) {
	cn.mu.Lock()
	cn.subs[s.id] = s
	cn.mu.Unlock()
	cn.tell(func(b []byte) []byte { return native.AppendSub(b, s.frame) })
}

// barrier waits until the node has routed all that was sent before on every stream.
func (cn *conn) barrier(ctx context.Context) error {
	var waits []chan struct{}
	for _, o := range cn.outlets() {
		ch := make(chan struct{})
		cn.mu.Lock()
		cn.lastVal++
		v := cn.lastVal
		cn.pings[v] = ch
		cn.mu.Unlock()
		waits = append(waits, ch)
		o.Lock()
		if !o.Closed() {
			o.SetTail(native.AppendPing(o.Tail(native.HeaderSize+8), false, v))
		}
		o.Unlock()
	}
	for _, ch := range waits {
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		case <-cn.ctx.Done():
			return fmt.Errorf("stream: the connection was lost before the node confirmed what was sent: %w", context.Cause(cn.ctx))
		}
	}
	return nil
}

// retire answers a node that stops: what was received is handled, what was sent is confirmed, then the client says that
// it is done. The node closes the connection when it has nothing left for the client.
func (cn *conn) retire() {
	cn.mu.Lock()
	subs := make([]*subscription, 0, len(cn.subs))
	for _, s := range cn.subs {
		subs = append(subs, s)
	}
	cn.mu.Unlock()
	for _, s := range subs {
		s.settle(cn.ctx)
	}
	cn.client.mu.Lock()
	if cn.client.conn == cn {
		cn.client.conn = nil // Send waits for the next connection
		close(cn.client.changed)
		cn.client.changed = make(chan struct{})
	}
	cn.client.mu.Unlock()
	sources := cn.granted()
	for _, s := range sources {
		s.pause(cn)
	}
	if len(sources) > 0 && cn.barrier(cn.ctx) == nil {
		cn.tell(func(b []byte) []byte { return native.AppendGoaway(b, native.GoawayFrame{Code: native.CodeOK}) })
	}
}

// granted returns the sources that may send over cn.
func (cn *conn) granted() []*Source {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	all := make([]*Source, 0, len(cn.tags))
	for _, s := range cn.tags {
		all = append(all, s)
	}
	return all
}

// leave ends the connection: everything sent is written and confirmed first, for at most patience.
func (cn *conn) leave(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if cn.barrier(ctx) == nil {
		cn.tell(func(b []byte) []byte { return native.AppendGoaway(b, native.GoawayFrame{Code: native.CodeOK}) })
		for _, o := range cn.outlets() {
			o.Close()
		}
		for _, o := range cn.outlets() {
			select {
			case <-o.Done():
			case <-ctx.Done():
			}
		}
	}
	cn.cancel(ErrClosed)
}

// salvage keeps what was sent and never given to the transport, for the next connection.
func (cn *conn) salvage() {
	tags := map[uint32]*Source{}
	for _, s := range cn.granted() {
		s.pause(cn)
	}
	cn.mu.Lock()
	maps.Copy(tags, cn.tags)
	cn.mu.Unlock()
	for _, o := range cn.outlets() {
		o.Unsent(func(frames []byte) {
			for len(frames) > 0 {
				f := native.Frame(frames[:native.Size(frames)])
				if f.Kind() == native.Pub && tags[f.Tag()] != nil {
					tags[f.Tag()].keep(f)
				}
				frames = frames[len(f):]
			}
		})
	}
}
