package stream_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/format/all"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
)

// testNode is a broker that listens on one transport.
type testNode struct {
	t      testing.TB
	broker *broker.Broker
	tr     transport.Transport
	addr   string
	stop   func()
}

func newTestNode(t testing.TB, tr transport.Transport, addr string, cfg broker.Config) *testNode {
	t.Helper()
	if cfg.Identify == nil {
		cfg.Identify = broker.Anyone
	}
	cfg.Formats = all.Formats()
	cfg.Log = slog.New(slog.DiscardHandler)
	h, err := broker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l, err := tr.Listen(ctx, addr)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, l, broker.ValidateFull) }()
	s := &testNode{t: t, broker: h, tr: tr, addr: addr}
	if addr == "127.0.0.1:0" {
		s.addr = l.Addr().String()
	}
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			_ = l.Close()
			done, end := context.WithTimeout(context.Background(), time.Minute)
			defer end()
			if err := h.Shutdown(done); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			cancel()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
	t.Cleanup(s.stop)
	return s
}

func (s *testNode) dial(cfg *stream.Config) *stream.Client {
	s.t.Helper()
	c, err := stream.Dial(s.t.Context(), s.tr, s.addr, quiet(cfg))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func quiet(cfg *stream.Config) *stream.Config {
	if cfg == nil {
		cfg = &stream.Config{}
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.MinBackoff = 5 * time.Millisecond
	return cfg
}

// collector is a handler that collects payloads.
type collector struct {
	mu   sync.Mutex
	got  []string
	more chan struct{}
}

func newCollector() *collector { return &collector{more: make(chan struct{}, 1)} }

func (b *collector) Handle(_ context.Context, in *ferry.Message, _ ferry.Sender) error {
	b.mu.Lock()
	b.got = append(b.got, string(in.Payload))
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
	return nil
}

// await waits until the handler has n payloads, and returns all.
func (b *collector) await(t *testing.T, n int) []string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		b.mu.Lock()
		got := append([]string(nil), b.got...)
		b.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-b.more:
		case <-late:
			t.Fatalf("%d messages of %d after a minute: %.200q", len(got), n, got)
		}
	}
}

func start(t *testing.T, c *stream.Client, f stream.Function) *stream.Running {
	t.Helper()
	r, err := c.Start(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

func send(t *testing.T, c *stream.Client, m ferry.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Send(ctx, m); err != nil {
		t.Fatal(err)
	}
}

func flush(t *testing.T, c *stream.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func numbered(n int) []string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprint(i))
	}
	return s
}

func same(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") }

// overEachTransport runs a test over memory, tcp and quic.
func overEachTransport(t *testing.T, test func(t *testing.T, s *testNode)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, newTestNode(t, memory.New(nil), "node", broker.Config{}))
	})
	t.Run("tcp", func(t *testing.T) {
		t.Parallel()
		test(t, newTestNode(t, tcp.New(nil), "127.0.0.1:0", broker.Config{}))
	})
	t.Run("quic", func(t *testing.T) {
		t.Parallel()
		test(t, newTestNode(t, quicTransport(t), "127.0.0.1:0", broker.Config{}))
	})
}

func TestOrderAndCompleteness(t *testing.T) {
	overEachTransport(t, func(t *testing.T, s *testNode) {
		const n = 5000
		sink := newCollector()
		start(t, s.dial(nil), stream.Function{Observe: []string{"a/+"}, Handler: sink, Concurrency: 1})
		src := s.dial(nil)
		for i := range n {
			send(t, src, ferry.Message{Tag: "a/b", Payload: []byte(fmt.Sprint(i))})
		}
		if got := sink.await(t, n); !same(got, numbered(n)) {
			t.Errorf("got %d messages, not the %d sent in order", len(got), n)
		}
	})
}

func TestLargeMessages(t *testing.T) {
	overEachTransport(t, func(t *testing.T, s *testNode) {
		sink := newCollector()
		start(t, s.dial(nil), stream.Function{Observe: []string{"big"}, Handler: sink, Concurrency: 1, Window: 64 << 10})
		src := s.dial(nil)
		var want []string
		for i, size := range []int{1 << 10, 64 << 10, 15 << 10, 17 << 10, 900 << 10, 0, 1, 64 << 10, 1<<20 - native.PubHeaderSize} {
			payload := strings.Repeat(string(rune('a'+i)), size)
			want = append(want, payload)
			send(t, src, ferry.Message{Tag: "big", Payload: []byte(payload)})
		}
		got := sink.await(t, len(want))
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("message %d: %d bytes of %.3q, want %d of %.3q", i, len(got[i]), got[i], len(want[i]), want[i])
			}
		}
		err := src.Send(t.Context(), ferry.Message{Tag: "big", Payload: make([]byte, 1<<20)})
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("a message above the node's limit: got %v", err)
		}
	})
}

func TestNodeEvaluatesWhere(t *testing.T) {
	s := newTestNode(t, tcp.New(nil), "127.0.0.1:0", broker.Config{})
	hot, every := newCollector(), newCollector()
	c := s.dial(nil)
	start(t, c, stream.Function{Observe: []string{"t"}, Where: `v > 30 && name == "pump-1"`, Handler: hot, Concurrency: 1})
	start(t, c, stream.Function{Observe: []string{"t"}, Handler: every, Concurrency: 1})
	src := s.dial(nil)
	var want []string
	for i := range 100 {
		name := "pump-1"
		if i%3 == 0 {
			name = "pump-2"
		}
		doc := fmt.Sprintf(`{"name":%q,"v":%d}`, name, i)
		if i > 30 && i%3 != 0 {
			want = append(want, doc)
		}
		send(t, src, ferry.Message{Tag: "t", Type: ferry.JSON, Payload: []byte(doc)})
	}
	send(t, src, ferry.Message{Tag: "t", Type: ferry.Raw, Payload: []byte("no field can be read")})
	every.await(t, 101)
	if got := hot.await(t, len(want)); !same(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	snap := s.broker.Snapshot()
	if out := snap.Tags[0].Out.Messages; out != uint64(101+len(want)) {
		t.Errorf("%d messages left the node, want %d", out, 101+len(want))
	}
	if snap.Mismatched != 1 {
		t.Errorf("%d mismatches counted, want 1", snap.Mismatched)
	}
}

func TestGroupSharesEqually(t *testing.T) {
	s := newTestNode(t, tcp.New(nil), "127.0.0.1:0", broker.Config{})
	const n = 3000
	var counts [3]atomic.Int64
	all := newCollector()
	for i := range counts {
		start(t, s.dial(nil), stream.Function{
			Observe: []string{"jobs"}, Group: "workers", Concurrency: 1,
			Handler: stream.Sink(func(ctx context.Context, in *ferry.Message) error {
				counts[i].Add(1)
				return all.Handle(ctx, in, nil)
			}),
		})
	}
	src := s.dial(nil)
	for i := range n {
		send(t, src, ferry.Message{Tag: "jobs", Payload: []byte(fmt.Sprint(i))})
		if i%50 == 0 { // otherwise a full member's messages would be sent to the others
			flush(t, src)
		}
	}
	got := all.await(t, n)
	sort.Strings(got)
	want := numbered(n)
	sort.Strings(want)
	if !same(got, want) {
		t.Errorf("got %d messages, not each of the %d once", len(got), n)
	}
	for i := range counts {
		if c := counts[i].Load(); c < n/3*95/100 || c > n/3*105/100 {
			t.Errorf("member %d got %d of %d messages, want a third +-5 %%", i, c, n)
		}
	}
}

func TestAddressedMessages(t *testing.T) {
	overEachTransport(t, func(t *testing.T, s *testNode) {
		fn := s.dial(nil)
		start(t, fn, stream.Function{Observe: []string{"ask"}, Handler: ferry.HandlerFunc(
			func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
				return out.Send(ctx, ferry.Message{Tag: "answer", To: in.Source, Payload: append([]byte("re: "), in.Payload...)})
			})})
		one, other := s.dial(nil), s.dial(nil)
		mine, theirs := newCollector(), newCollector()
		start(t, one, stream.Function{Observe: []string{"answer"}, Addressed: true, Handler: mine})
		start(t, other, stream.Function{Observe: []string{"answer"}, Addressed: true, Handler: theirs})
		send(t, one, ferry.Message{Tag: "ask", Payload: []byte("1")})
		if got := mine.await(t, 1); got[0] != "re: 1" {
			t.Errorf("got %q", got)
		}
		send(t, other, ferry.Message{Tag: "ask", Payload: []byte("2")})
		if got := theirs.await(t, 1); !same(got, []string{"re: 2"}) {
			t.Errorf("got %q: what was meant for another source, or nothing", got)
		}
	})
}

// TestSlowFunctionHoldsUpItsTagOnly: with policy block, a slow function delays the sources of its tag. It does not
// delay sources of other tags.
func TestSlowFunctionHoldsUpItsTagOnly(t *testing.T) {
	overEachTransport(t, func(t *testing.T, s *testNode) {
		release := make(chan struct{})
		var once sync.Once
		defer once.Do(func() { close(release) })
		var slow atomic.Int64
		c := s.dial(nil)
		start(t, c, stream.Function{
			Observe: []string{"slow"}, Window: 10 << 10, Queue: 10 << 10, Concurrency: 1,
			Handler: stream.Sink(func(context.Context, *ferry.Message) error {
				<-release
				slow.Add(1)
				return nil
			}),
		})
		fast := newCollector()
		start(t, c, stream.Function{Observe: []string{"fast"}, Handler: fast, Concurrency: 1})
		src := s.dial(nil)
		payload := make([]byte, 10<<10)
		var sent atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		blocked := make(chan error, 1)
		go func() {
			for ; ; sent.Add(1) {
				if err := src.Send(ctx, ferry.Message{Tag: "slow", Payload: payload}); err != nil {
					blocked <- err
					return
				}
			}
		}()
		const n = 2000
		for i := range n {
			send(t, src, ferry.Message{Tag: "fast", Payload: []byte(fmt.Sprint(i))})
		}
		if got := fast.await(t, n); !same(got, numbered(n)) {
			t.Errorf("the fast tag: got %d of %d messages in order", len(got), n)
		}
		// The source holds 1 MiB of credit, the node and the function 10 KiB each and a frame on top.
		for sent.Load() < 103 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-blocked; !errors.Is(err, context.Canceled) {
			t.Errorf("the blocked Send: got %v", err)
		}
		taken := sent.Load()
		if taken > 130 {
			t.Errorf("%d messages of 10 KiB were taken, want what 1 MiB of credit allows", taken)
		}
		once.Do(func() { close(release) })
		late := time.Now().Add(time.Minute)
		for slow.Load() < taken && time.Now().Before(late) {
			time.Sleep(time.Millisecond)
		}
		if slow.Load() != taken {
			t.Errorf("%d of the %d messages taken were delivered", slow.Load(), taken)
		}
	})
}

func TestDropPolicies(t *testing.T) {
	for _, c := range []struct {
		policy stream.Policy
		last   bool // the newest message is delivered
	}{{stream.DropOldest, true}, {stream.DropNewest, false}} {
		s := newTestNode(t, tcp.New(nil), "127.0.0.1:0", broker.Config{})
		release := make(chan struct{})
		got := newCollector()
		start(t, s.dial(nil), stream.Function{
			Observe: []string{"x"}, Policy: c.policy, Window: 2 << 10, Queue: 4 << 10, Concurrency: 1,
			Handler: ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
				<-release
				return got.Handle(ctx, in, out)
			}),
		})
		src := s.dial(nil)
		const n = 4000
		for i := range n {
			send(t, src, ferry.Message{Tag: "x", Payload: []byte(fmt.Sprint(i))})
		}
		flush(t, src)
		snap := s.broker.Snapshot()
		dropped := int(snap.Dropped["queue_full"])
		if dropped == 0 || snap.Subscriptions[0].QueuedBytes > 4<<10 {
			t.Errorf("policy %d: %d dropped, %d bytes queued, want some and at most 4096", c.policy, dropped, snap.Subscriptions[0].QueuedBytes)
		}
		close(release)
		all := got.await(t, n-dropped)
		if len(all) != n-dropped {
			t.Errorf("policy %d: %d delivered and %d dropped of %d", c.policy, len(all), dropped, n)
		}
		if last := all[len(all)-1] == fmt.Sprint(n-1); last != c.last {
			t.Errorf("policy %d: the last message delivered is %s", c.policy, all[len(all)-1])
		}
	}
}

func TestClientsReconnectAfterARestartOfTheNode(t *testing.T) {
	network := memory.New(nil)
	s := newTestNode(t, network, "node", broker.Config{})
	sink := newCollector()
	fn, src := s.dial(nil), s.dial(nil)
	start(t, fn, stream.Function{Observe: []string{"a"}, Handler: sink, Concurrency: 1})
	for i := range 10 {
		send(t, src, ferry.Message{Tag: "a", Payload: []byte(fmt.Sprint(i))})
	}
	s.stop() // the node drains: it delivers all ten messages
	if got := sink.await(t, 10); !same(got, numbered(10)) {
		t.Errorf("before the restart: %q", got)
	}
	newTestNode(t, network, "node", broker.Config{})
	for fn.Stats().Connects < 2 || !fn.Stats().Connected {
		time.Sleep(time.Millisecond)
	}
	flush(t, fn) // the node has handled its SUB
	for i := 10; i < 20; i++ {
		send(t, src, ferry.Message{Tag: "a", Payload: []byte(fmt.Sprint(i))})
	}
	if got := sink.await(t, 20); !same(got, numbered(20)) {
		t.Errorf("after the restart: %q", got)
	}
}

func TestFunctionReconnectsAfterARestart(t *testing.T) {
	s := newTestNode(t, tcp.New(nil), "127.0.0.1:0", broker.Config{})
	src := s.dial(nil)
	for i := range 3 {
		sink := newCollector()
		c := s.dial(nil)
		start(t, c, stream.Function{Observe: []string{"a"}, Handler: sink})
		send(t, src, ferry.Message{Tag: "a", Payload: []byte(fmt.Sprint(i))})
		if got := sink.await(t, 1); got[0] != fmt.Sprint(i) {
			t.Errorf("round %d: got %q", i, got)
		}
		_ = c.Close()
		for s.broker.Snapshot().Connections > 1 {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestBatchHandlerAndPanics(t *testing.T) {
	s := newTestNode(t, tcp.New(nil), "127.0.0.1:0", broker.Config{})
	c := s.dial(nil)
	b := &batcher{inbox: newCollector()}
	start(t, c, stream.Function{Observe: []string{"a"}, Handler: b, Concurrency: 1})
	sink := newCollector()
	start(t, c, stream.Function{Observe: []string{"a"}, Concurrency: 1, Handler: ferry.HandlerFunc(
		func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
			if string(in.Payload) == "7" {
				panic("seven")
			}
			return sink.Handle(ctx, in, out)
		})})
	src := s.dial(nil)
	for i := range 500 {
		send(t, src, ferry.Message{Tag: "a", Payload: []byte(fmt.Sprint(i))})
	}
	if got := b.inbox.await(t, 500); !same(got, numbered(500)) {
		t.Errorf("batches: got %d messages, not 500 in order", len(got))
	}
	sink.await(t, 499)
	if st := c.Stats(); st.Failed != 1 || st.Handled != 1000 {
		t.Errorf("%d of %d failed, want 1 of 1000", st.Failed, st.Handled)
	}
}

type batcher struct{ inbox *collector }

func (b *batcher) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	return b.inbox.Handle(ctx, in, out)
}

func (b *batcher) HandleBatch(ctx context.Context, in []ferry.Message, out ferry.Sender) error {
	for i := range in {
		if err := b.inbox.Handle(ctx, &in[i], out); err != nil {
			return err
		}
	}
	return nil
}

func TestRefusals(t *testing.T) {
	id := func(token []byte, _ *tls.ConnectionState) (*broker.Identity, error) {
		if string(token) != "secret" {
			return nil, errors.New("unknown token")
		}
		return &broker.Identity{Name: "edge", Publish: []string{"up/#"}, Subscribe: []string{"down/#"}}, nil
	}
	s := newTestNode(t, tcp.New(nil), "127.0.0.1:0", broker.Config{Identify: id, MaxSubs: 2})
	code := func(err error) native.Code {
		var e *native.Error
		if !errors.As(err, &e) {
			return 0
		}
		return e.Code
	}
	_, err := stream.Dial(t.Context(), s.tr, s.addr, quiet(&stream.Config{Token: []byte("wrong")}))
	if code(err) != native.CodeUnauthenticated || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong token: got %v", err)
	}
	c := s.dial(&stream.Config{Token: []byte("secret")})
	if err := c.Send(t.Context(), ferry.Message{Tag: "down/x"}); code(err) != native.CodeForbidden || !strings.Contains(err.Error(), `"edge" may not publish on "down/x"`) {
		t.Errorf("a forbidden tag: got %v", err)
	}
	handler := newCollector()
	if err := c.Run(t.Context(), stream.Function{Observe: []string{"#"}, Handler: handler}); code(err) != native.CodeForbidden {
		t.Errorf("a forbidden filter: got %v", err)
	}
	if err := c.Run(t.Context(), stream.Function{Observe: []string{"down/a"}, Where: "v >", Handler: handler}); err == nil || !strings.Contains(err.Error(), "Where") {
		t.Errorf("a bad predicate: got %v", err)
	}
	start(t, c, stream.Function{Observe: []string{"down/a", "down/b"}, Handler: handler})
	if err := c.Run(t.Context(), stream.Function{Observe: []string{"down/c"}, Handler: handler}); code(err) != native.CodeLimit {
		t.Errorf("one subscription too many: got %v", err)
	}
	send(t, c, ferry.Message{Tag: "up/x", Type: ferry.JSON, Payload: []byte(`{"a":1,"a":2}`)})
	if err := c.Flush(t.Context()); code(err) != native.CodeInvalid || !strings.Contains(err.Error(), "up/x") {
		t.Errorf("a payload with a duplicate key: got %v", err)
	}
	if n := s.broker.Snapshot().Dropped["invalid"]; n != 1 {
		t.Errorf("%d invalid messages counted, want 1", n)
	}
	if c.Stats().Connects != 1 {
		t.Error("a refusal cost the connection")
	}
}
