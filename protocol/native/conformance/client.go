package conformance

import (
	"context"
	"fmt"
	"io"
	"slices"

	"example.com/ferry/protocol/native"
)

// ClientConfig is what the cases for clients need.
type ClientConfig struct {
	Options

	// Start starts the driver. It is called once for each case.
	Start func(ctx context.Context) (Driver, error)

	// Listen returns a listener on an address that the driver's client can dial. It is called once for each case.
	Listen func(ctx context.Context) (Listener, error)
}

// Listener accepts the connections of the client under test.
type Listener interface {
	Accept() (io.ReadWriteCloser, error) // an error once it is closed
	Addr() string                        // with scheme, such as tcp://127.0.0.1:4711
	Close() error
}

// Client runs the cases for clients. Results are in the order of ClientCases. If ctx ends, later cases are missing.
func Client(ctx context.Context, cfg ClientConfig) []Result {
	cases := clientCases()
	return cfg.each(ctx, ClientCases(), func(r *run, i int) {
		l, err := cfg.Listen(r.ctx)
		if err != nil {
			r.fail("the kit listens", "%v", err)
		}
		c := &clientRun{run: r, listener: l}
		accepting := make(chan struct{})
		go func() {
			defer close(accepting)
			c.accept()
		}()
		r.cleanup(func() {
			_ = l.Close()
			<-accepting
			for _, conn := range c.waiting {
				_ = conn.Close()
			}
		})
		prog, err := cfg.Start(r.ctx)
		if err != nil {
			r.fail("the driver starts", "%v", err)
		}
		c.driver = startDriver(r, prog)
		cases[i].run(c)
	})
}

// clientRun plays the node in a case for clients.
type clientRun struct {
	*run
	*driver
	listener Listener
	accepted uint32

	// Guarded by run.mu.
	waiting []io.ReadWriteCloser // accepted and not taken by the case
	refuse  bool                 // further connections are closed at once
}

// maxConnections bounds the connections of a client in one case that the case has not taken.
const maxConnections = 64

// accept collects connections until the listener is closed.
func (c *clientRun) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		keep := !c.refuse && len(c.waiting) < maxConnections
		if keep {
			c.waiting = append(c.waiting, conn)
			c.wake()
		}
		c.mu.Unlock()
		if !keep {
			_ = conn.Close()
		}
	}
}

// node is the kit's end of a connection of the client under test.
type node struct {
	*peer
	client  *clientRun
	rules   *clientRules
	hello   native.HelloFrame
	version uint8
	source  uint32
}

// next waits for a connection of the client.
func (c *clientRun) next() *node {
	var conn io.ReadWriteCloser
	c.await("a connection of the client", func() (bool, string) {
		if len(c.waiting) == 0 {
			return false, ""
		}
		conn, c.waiting = c.waiting[0], c.waiting[1:]
		return true, ""
	}, func() string { return "no connection" })
	c.accepted++
	n := &node{client: c, rules: newClientRules(), source: 6 + c.accepted}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.peer = newPeer(c.run, conn, n.rules)
	n.rules.reply = n.peer.reply
	return n
}

// refuseOthers closes further connections of the client.
func (c *clientRun) refuseOthers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = true
	for _, conn := range c.waiting {
		_ = conn.Close()
	}
	c.waiting = nil
}

// begin lets the client connect, as told. It returns before HELLO is read.
func (c *clientRun) begin(in Instruction) (*node, *pending) {
	in.Do, in.Addr = "connect", c.listener.Addr()
	if in.Name == "" {
		in.Name = "conformance"
	}
	p := c.tell(in)
	return c.next(), p
}

// connect lets the client connect and accepts it with WELCOME. Functions change WELCOME before it is sent.
func (c *clientRun) connect(changes ...func(*native.WelcomeFrame)) *node {
	n, p := c.begin(Instruction{})
	n.greet(changes...)
	p.ok()
	return n
}

// needs skips the case for a client that does not speak a version.
func (n *node) needs(version uint8) {
	if n.hello.MaxVersion < version {
		n.run.skip("the client speaks versions %d to %d: this needs %d", n.hello.MinVersion, n.hello.MaxVersion, version)
	}
}

// connectVersion is connect for cases about version 2 and later.
func (c *clientRun) connectVersion(version uint8, changes ...func(*native.WelcomeFrame)) *node {
	n, p := c.begin(Instruction{})
	n.readHello()
	n.needs(version)
	n.welcome(changes...)
	p.ok()
	return n
}

// greet reads HELLO and sends WELCOME.
func (n *node) greet(changes ...func(*native.WelcomeFrame)) {
	n.readHello()
	n.welcome(changes...)
}

// readHello waits for HELLO.
func (n *node) readHello() {
	f := n.take("HELLO", native.Hello)
	h, err := native.ParseHello(f)
	if err != nil || h.MinVersion > h.MaxVersion || h.MinVersion == 0 {
		n.run.fail("a HELLO with magic, versions, token and name", "%s (%v)", show(f), err)
	}
	n.hello, n.version = h, min(h.MaxVersion, native.Version)
	if n.version < h.MinVersion {
		n.run.skip("the client speaks versions %d to %d, the kit 1 to %d", h.MinVersion, h.MaxVersion, native.Version)
	}
}

// welcome accepts the client.
func (n *node) welcome(changes ...func(*native.WelcomeFrame)) {
	w := native.WelcomeFrame{
		Version: n.version, Source: n.source, MaxFrame: native.DefaultMaxFrame, Window: 1 << 20, Heartbeat: 10_000,
	}
	if w.Version >= native.CallVersion {
		w.Limits = native.CallLimits{Calls: 100, Window: 4 << 20, StreamWindow: 64 << 10}
	}
	if w.Version >= native.ForwardVersion {
		w.Node = "kit"
	}
	for _, change := range changes {
		change(&w)
	}
	n.accept(w)
	n.write(native.AppendWelcome(nil, w))
}

// accept prepares for the frames that follow WELCOME.
func (n *node) accept(w native.WelcomeFrame) {
	n.run.mu.Lock()
	defer n.run.mu.Unlock()
	if len(n.frames) > 0 {
		n.run.breakRule("no frame between HELLO and WELCOME", "%s", show(n.frames[0]))
	}
	n.version = w.Version
	n.maxFrame = int(w.MaxFrame)
	n.rules.welcomed(w)
}

// alive checks that the driver still works: the client has survived what it received.
func (c *clientRun) alive() { c.tell(Instruction{Do: "noop"}).ok() }

// publish lets the client publish one message of JSON text.
func (c *clientRun) publish(tag, text string) *pending {
	return c.tell(Instruction{Do: "publish", Tag: tag, Type: "json", Payload: HexBytes(text)})
}

// grant waits for a TAG and grants it with a number.
func (n *node) grant(tag string, number uint32, stored bool) {
	t := n.takeTag(tag)
	n.result(native.ResultFrame{Kind: native.Tag, Ref: t.Ref, Value: number, Stored: stored})
}

// takeTag waits for a TAG.
func (n *node) takeTag(tag string) native.TagFrame {
	f := n.take(fmt.Sprintf("TAG %q", tag), native.Tag)
	t, err := native.ParseTag(f)
	if err != nil || t.Name != tag {
		n.run.fail(fmt.Sprintf("TAG %q", tag), "%s (%v)", show(f), err)
	}
	return t
}

// result sends a RESULT.
func (n *node) result(v native.ResultFrame) {
	n.run.mu.Lock()
	n.rules.result(v)
	n.run.mu.Unlock()
	n.write(native.AppendResult(nil, v))
}

// credit returns bytes to the publisher of a tag.
func (n *node) credit(number, bytes uint32) {
	n.run.mu.Lock()
	n.rules.credited(number, bytes)
	n.run.mu.Unlock()
	n.write(native.AppendCredit(nil, native.CreditFrame{Tag: number, Bytes: bytes}))
}

// takePub waits for a PUB with a payload.
func (n *node) takePub(number uint32, payload []byte) native.Frame {
	want := fmt.Sprintf("PUB on tag number %d with payload %s", number, short(fmt.Sprintf("%x", payload)))
	f := n.take(want, native.Pub)
	if f.Tag() != number || string(f.Payload()) != string(payload) {
		n.run.fail(want, "%s", show(f))
	}
	return f
}

// takeSub waits for a SUB of a filter.
func (n *node) takeSub(filter string) native.SubFrame {
	want := fmt.Sprintf("SUB of %q", filter)
	f := n.take(want, native.Sub)
	s, err := native.ParseSub(f)
	if err != nil || s.Filter != filter {
		n.run.fail(want, "%s (%v)", show(f), err)
	}
	return s
}

// subscribe lets the client subscribe and accepts that.
func (c *clientRun) subscribe(n *node, in Instruction) native.SubFrame {
	in.Do = "subscribe"
	p := c.tell(in)
	s := n.takeSub(in.Filter)
	n.result(native.ResultFrame{Kind: native.Sub, Ref: s.ID, Stored: s.Stored(), Value: ackTime(s)})
	p.ok()
	return s
}

// ackTime is the acknowledgement time of a durable, in milliseconds.
func ackTime(s native.SubFrame) uint32 {
	if s.Durable == "" {
		return 0
	}
	return 30_000
}

// message waits for an event of a message with a payload.
func (c *clientRun) message(sub int, payload []byte) *Report {
	want := fmt.Sprintf("the handler of subscription %d gets payload %s", sub, short(fmt.Sprintf("%x", payload)))
	e := c.event("message", want)
	if e.Sub != sub || !slices.Equal(e.Payload, payload) {
		c.fail(want, "%v", e)
	}
	return e
}
