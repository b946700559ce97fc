package conformance

import (
	"context"
	"fmt"
	"io"
	"strings"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// NodeConfig is what the cases for nodes need.
type NodeConfig struct {
	Options

	// Dial connects to the node, over a transport with one stream.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)

	// Token identifies the kit's clients. Their identity may publish and subscribe below Tags and Stored, and call and serve services
	// below conformance. What it may not do is skipped.
	Token []byte

	// Tags is the prefix of tags that are not stored. "" means conformance.
	Tags string

	// Stored is the prefix of tags that the node stores at least once, all in one stream. "" skips the cases about them.
	Stored string

	// Forbidden is a tag that the identity may neither publish on nor subscribe to. "" skips the cases about it.
	Forbidden string

	// Salt is different in each run, so that no run meets what an earlier one has left in the node: 1 to 16 letters and digits.
	Salt string
}

// Node runs the cases for nodes. Results are in the order of NodeCases. If ctx ends, later cases are missing.
func Node(ctx context.Context, cfg NodeConfig) []Result {
	if cfg.Tags == "" {
		cfg.Tags = "conformance"
	}
	cases := nodeCases()
	return cfg.each(ctx, NodeCases(), func(r *run, i int) {
		name := strings.ReplaceAll(cases[i].Name, "/", "-")
		cases[i].run(&nodeRun{run: r, cfg: &cfg, name: name + "-" + cfg.Salt})
	})
}

// nodeRun plays the clients in a case for nodes.
type nodeRun struct {
	*run
	cfg  *NodeConfig
	name string // of the case in this run
}

// tag returns a tag of the case that is not stored.
func (r *nodeRun) tag(rest string) string { return r.cfg.Tags + "/" + r.name + "/" + rest }

// stored returns a tag of the case that is stored. It skips the case if there is none.
func (r *nodeRun) stored(rest string) string {
	if r.cfg.Stored == "" {
		r.skip("no prefix of stored tags was given")
	}
	return r.cfg.Stored + "/" + r.name + "/" + rest
}

// client is the kit's end of a connection to the node under test.
type client struct {
	*peer
	rules   *nodeRules
	welcome native.WelcomeFrame
	lastRef uint32
	numbers map[string]uint32 // of publisherOnce, by tag
	service string            // of calls
}

// source is the client's source id.
func (c *client) source() ferry.SourceID { return ferry.SourceID(c.welcome.Source) }

// dial connects, and sends nothing.
func (r *nodeRun) dial() *client {
	conn, err := r.cfg.Dial(r.ctx)
	if err != nil {
		r.fail("a connection to the node", "%v", err)
	}
	c := &client{rules: newNodeRules()}
	c.peer = newPeer(r.run, conn, c.rules)
	return c
}

// hello is the HELLO of the kit's clients.
func (r *nodeRun) hello() native.HelloFrame {
	return native.HelloFrame{
		MinVersion: native.LowestVersion, MaxVersion: native.Version, Token: r.cfg.Token, Name: "conformance",
		Limits: native.CallLimits{Calls: 100, Window: 1 << 20, StreamWindow: leastStreamWindow},
	}
}

// leastStreamWindow is the stream window that a client of a node needs for calls, in bytes.
const leastStreamWindow = 256 << 10

// connect returns a connection of a client that speaks all versions.
func (r *nodeRun) connect() *client { return r.greet(r.hello()) }

// connectVersion is connect for cases that need a version. A node of an earlier one is skipped.
func (r *nodeRun) connectVersion(version uint8) *client {
	c := r.connect()
	if c.welcome.Version < version {
		r.skip("the node speaks version %d: this needs %d", c.welcome.Version, version)
	}
	return c
}

// greet connects with a HELLO, which the node accepts.
func (r *nodeRun) greet(h native.HelloFrame) *client {
	c := r.dial()
	c.write(native.AppendHello(nil, h))
	c.takeWelcome(h)
	return c
}

// takeWelcome waits for WELCOME.
func (c *client) takeWelcome(h native.HelloFrame) {
	want := fmt.Sprintf("WELCOME with a version of %d to %d, a source id, a maximum frame and a heartbeat", h.MinVersion, h.MaxVersion)
	f := c.take(want, native.Welcome)
	w, err := native.ParseWelcome(f)
	if err != nil || w.Version < h.MinVersion || w.Version > h.MaxVersion || w.Source == 0 || w.MaxFrame < native.PubHeaderSize || w.Heartbeat == 0 {
		c.run.fail(want, "%s (%v)", show(f), err)
	}
	if w.Streams > 0 {
		c.run.fail("no data streams on a transport with one stream", "%d", w.Streams)
	}
	c.welcome = w
	c.run.mu.Lock()
	c.maxFrame = int(w.MaxFrame) + native.StoredOverhead
	c.run.mu.Unlock()
}

// request sends a TAG, SUB or OFFER and waits for its RESULT.
func (c *client) request(frame []byte, kind native.Kind, ref uint32) native.ResultFrame {
	c.write(frame)
	want := fmt.Sprintf("RESULT of %v %d", kind, ref)
	f := c.take(want, native.Result)
	v, err := native.ParseResult(f)
	if err != nil || v.Kind != kind || v.Ref != ref {
		c.run.fail(want, "%s (%v)", show(f), err)
	}
	return v
}

// requestTag asks for a tag.
func (c *client) requestTag(tag string) native.ResultFrame {
	c.lastRef++
	return c.request(native.AppendTag(nil, native.TagFrame{Ref: c.lastRef, Name: tag}), native.Tag, c.lastRef)
}

// publisher returns the number of a tag. It skips the case if the identity may not publish on it.
func (c *client) publisher(tag string) uint32 {
	v := c.requestTag(tag)
	c.granted(v, "publish on "+tag)
	c.run.mu.Lock()
	c.rules.published[v.Value] = int64(c.welcome.Window)
	c.run.mu.Unlock()
	return v.Value
}

// granted fails the case unless a request was granted, and skips it if the identity has no permission.
func (c *client) granted(v native.ResultFrame, what string) {
	switch v.Code {
	case native.CodeOK:
	case native.CodeForbidden:
		c.run.skip("the identity may not %s", what)
	default:
		c.run.fail("RESULT ok, to "+what, "%v: %s", v.Code, v.Reason)
	}
}

// subscribe subscribes. Window 0 means 1 MiB.
func (c *client) subscribe(s native.SubFrame) native.ResultFrame {
	if s.Window == 0 {
		s.Window = 1 << 20
	}
	c.run.mu.Lock()
	c.rules.subs[s.ID] = &received{window: int64(s.Window), taken: map[uint32]int64{}}
	c.run.mu.Unlock()
	v := c.request(native.AppendSub(nil, s), native.Sub, s.ID)
	c.granted(v, "subscribe to "+s.Filter)
	return v
}

// pub makes a PUB of JSON text.
func (c *client) pub(number uint32, text string) []byte {
	return native.AppendPub(nil, native.PubHeader{Type: ferry.JSON, Tag: number, Source: c.source(), Time: sampleTime}, []byte(text))
}

// publish publishes JSON text, each as soon as there is credit.
func (c *client) publish(number uint32, texts ...string) {
	for _, text := range texts {
		c.send(number, c.pub(number, text))
	}
}

// send sends a PUB as soon as there is credit for its tag.
func (c *client) send(number uint32, frame []byte) {
	c.run.await("CREDIT for a tag", func() (bool, string) {
		if c.ended != nil {
			return false, c.seen()
		}
		ok := c.rules.published[number] > 0
		if ok {
			c.rules.published[number] -= int64(len(frame))
			c.rules.debt[number] += int64(len(frame))
		}
		return ok, ""
	}, c.seen)
	c.write(frame)
}

// message waits for the next message of a subscription.
func (c *client) message(sub uint32, text string) delivered {
	want := fmt.Sprintf("a message of subscription %d: %s", sub, text)
	m := c.next(want)
	if m.sub != sub || string(m.frame.Payload()) != text {
		c.run.fail(want, "of subscription %d, on %q: %s", m.sub, m.tag, show(m.frame))
	}
	return m
}

// next waits for the next message, of any subscription.
func (c *client) next(want string) (m delivered) {
	c.run.await(want, func() (bool, string) {
		if len(c.rules.pubs) > 0 {
			m, c.rules.pubs = c.rules.pubs[0], c.rules.pubs[1:]
			return true, ""
		}
		if c.ended != nil {
			return false, c.seen()
		}
		return false, ""
	}, c.seen)
	return m
}

// none fails the case if there is a message that was not taken.
func (c *client) none(want string) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	for _, m := range c.rules.pubs {
		c.run.breakRule(want, "on %q: %s", m.tag, show(m.frame))
	}
}

// allow returns credit for subscription 1.
func (c *client) allow(number uint32, bytes int) {
	c.run.mu.Lock()
	c.rules.subs[1].taken[number] -= int64(bytes)
	c.run.mu.Unlock()
	c.write(native.AppendCredit(nil, native.CreditFrame{Sub: 1, Tag: number, Bytes: uint32(bytes)}))
}

// endsWith waits until the node has ended the connection with GOAWAY and one of the codes.
func (c *client) endsWith(what string, codes ...native.Code) {
	want := fmt.Sprintf("GOAWAY with code %d, after %s", codes, what)
	g, ok := c.awaitEnd(want)
	for _, code := range codes {
		if ok && g.Code == code {
			return
		}
	}
	got := "the end of the connection without GOAWAY"
	if ok {
		got = fmt.Sprintf("GOAWAY %v %q", g.Code, g.Reason)
	}
	c.run.fail(want, "%s", got)
}
