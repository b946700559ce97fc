package forward_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/format/all"
	"example.com/ferry/link"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/spool"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

var discard = slog.New(slog.DiscardHandler)

// network has the nodes of a test.
type network struct {
	t  *testing.T
	tr transport.Transport
}

func newNetwork(t *testing.T) *network { return &network{t, memory.New(nil)} }

// node is a broker with its links.
type node struct {
	*network
	id     string
	addr   string
	broker *broker.Broker
	links  []*forward.Link
	stop   func()
}

// identify lets a client with the token "link" or "trusted" forward messages.
func identify(token []byte, _ *tls.ConnectionState) (*broker.Identity, error) {
	id, err := broker.Anyone(nil, nil)
	switch string(token) {
	case "link":
		id.Name, id.Forward = "link", true
	case "trusted":
		id.Name, id.Forward, id.TrustValidation = "trusted", true, true
	}
	return id, err
}

// node starts a node. change, if not nil, changes its configuration.
func (n *network) node(id string, change func(*broker.Config)) *node {
	n.t.Helper()
	cfg := broker.Config{Node: id, Identify: identify, Formats: all.Formats(), Log: discard}
	if change != nil {
		change(&cfg)
	}
	b, err := broker.New(cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	l, err := n.tr.Listen(n.t.Context(), id)
	if err != nil {
		n.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), l, broker.ValidateFull) }()
	made := &node{network: n, id: id, addr: l.Addr().String(), broker: b}
	var once sync.Once
	made.stop = func() {
		once.Do(func() {
			_ = l.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			_ = b.Shutdown(ctx)
			if err := <-served; err != nil {
				n.t.Errorf("Serve: %v", err)
			}
		})
	}
	n.t.Cleanup(made.stop)
	return made
}

// open serves one more address of the node.
func (n *node) open(addr string) {
	n.t.Helper()
	l, err := n.tr.Listen(n.t.Context(), addr)
	if err != nil {
		n.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- n.broker.Serve(context.Background(), l, broker.ValidateFull) }()
	n.t.Cleanup(func() {
		_ = l.Close()
		n.stop()
		if err := <-served; err != nil {
			n.t.Errorf("Serve: %v", err)
		}
	})
}

// link connects n to another node.
func (n *node) link(to string, change func(*forward.Config)) *forward.Link {
	n.t.Helper()
	cfg := forward.Config{
		Config: link.Config{Name: to, Spool: spool.Config{Dir: n.t.TempDir()}, Log: discard, MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond},
		Node:   n.id, Target: forward.Target{Tags: []string{"#"}, Dialer: n.tr, Addr: to, Token: []byte("trusted")},
	}
	if change != nil {
		change(&cfg)
	}
	l, err := forward.New(cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { closeLink(l) })
	n.links = append(n.links, l)
	n.route()
	return l
}

func (n *node) route() {
	var list []broker.Forwarder
	for _, l := range n.links {
		list = append(list, l)
	}
	n.broker.SetForwarders(list)
}

func closeLink(l *forward.Link) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = l.Close(ctx)
}

// client connects a client to the node.
func (n *node) client() *stream.Client {
	n.t.Helper()
	c, err := stream.Dial(n.t.Context(), n.tr, n.id, &stream.Config{Log: discard})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	return c
}

// recorder is a subscriber that keeps the payloads of what it receives.
type recorder struct {
	t        *testing.T
	mu       sync.Mutex
	messages []string // "tag payload"
	arrived  chan struct{}
}

// record subscribes to all tags.
func (n *node) record() *recorder {
	n.t.Helper()
	r := &recorder{t: n.t, arrived: make(chan struct{}, 1)}
	_, err := n.client().Start(n.t.Context(), stream.Function{Observe: []string{"#"}, Concurrency: 1, Handler: stream.Sink(
		func(_ context.Context, in *ferry.Message) error {
			r.mu.Lock()
			r.messages = append(r.messages, in.Tag+" "+string(in.Payload))
			r.mu.Unlock()
			select {
			case r.arrived <- struct{}{}:
			default:
			}
			return nil
		})})
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// list returns what was received.
func (r *recorder) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.messages...)
}

// await waits until n messages were received, and returns them.
func (r *recorder) await(n int) []string {
	r.t.Helper()
	late := time.After(time.Minute)
	for {
		if got := r.list(); len(got) >= n {
			return got
		}
		select {
		case <-r.arrived:
		case <-late:
			r.t.Fatalf("received %d messages, want %d", len(r.list()), n)
		}
	}
}

// expect waits for exactly these messages.
func (r *recorder) expect(want ...string) {
	r.t.Helper()
	got := r.await(len(want))
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			r.t.Fatalf("message %d of %d is %q, want the %d messages %.200q", i, len(got), got[i], len(want), want)
		}
	}
}

// publish publishes messages from %d to %d on a tag, and waits for their confirmation.
func publish(t *testing.T, c *stream.Client, tag string, from, to int) (sent []string) {
	t.Helper()
	for i := from; i < to; i++ {
		payload := fmt.Sprintf(`{"v":%d}`, i)
		if err := c.Send(t.Context(), ferry.Message{Tag: tag, Type: ferry.JSON, Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, tag+" "+payload)
	}
	flush(t, c)
	return sent
}

func flush(t *testing.T, c *stream.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition that counters show.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not happen that %s", what)
		}
	}
}
