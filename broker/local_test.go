package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/protocol/native"
)

// localClient is a LocalHandler that records what it is given.
type localClient struct {
	mu      sync.Mutex
	room    int // messages that Deliver still takes
	got     []string
	seqs    []uint64
	flushed int
	ready   int
	opened  []*broker.LocalSub
	ended   []error
	drained bool
	closed  []error
	changed chan struct{}
}

func newLocalClient(room int) *localClient {
	return &localClient{room: room, changed: make(chan struct{})}
}

func (c *localClient) note(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *localClient) Deliver(_ *broker.LocalSub, run *broker.Run) (taken int) {
	c.note(func() {
		var m broker.Message
		for c.room > taken && run.Next(&m) {
			c.got = append(c.got, m.Tag+" "+string(m.Payload))
			c.seqs = append(c.seqs, m.Sequence)
			taken++
		}
		c.room -= taken
	})
	return taken
}

func (c *localClient) Flush()                    { c.note(func() { c.flushed++ }) }
func (c *localClient) Ready(*broker.LocalTag)    { c.note(func() { c.ready++ }) }
func (c *localClient) Opened(s *broker.LocalSub) { c.note(func() { c.opened = append(c.opened, s) }) }

func (c *localClient) Ended(_ *broker.LocalSub, why error) {
	c.note(func() { c.ended = append(c.ended, why) })
}
func (c *localClient) Drain(string)     { c.note(func() { c.drained = true }) }
func (c *localClient) Closed(why error) { c.note(func() { c.closed = append(c.closed, why) }) }

func (c *localClient) messages() (got []string) {
	c.note(func() { got = slices.Clone(c.got) })
	return got
}
func (c *localClient) allow(room int) { c.note(func() { c.room = room }) }

// await waits until ok is true.
func (c *localClient) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		c.mu.Lock()
		done, changed := ok(), c.changed
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%s: not within a minute; got %q", what, c.messages())
		}
	}
}

func localListener(b *broker.Broker) *broker.Listener {
	return b.NewLocalListener(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, broker.ValidateFull)
}

func connectLocal(t *testing.T, l *broker.Listener, room int) (*broker.Local, *localClient) {
	t.Helper()
	h := newLocalClient(room)
	c, err := l.Connect(broker.LocalConfig{Addr: "test", Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, h
}

func publishLocal(t *testing.T, b *broker.Broker, to *broker.LocalTag, payloads ...string) {
	t.Helper()
	batch := broker.NewBatch(b)
	batch.Begin()
	defer batch.End()
	n, err := batch.Publish(to, jsonMessages(payloads...), nil)
	if n != len(payloads) || err != nil {
		t.Fatalf("Publish took %d of %d messages, err %v", n, len(payloads), err)
	}
}

func jsonMessages(payloads ...string) []broker.Message {
	ms := make([]broker.Message, len(payloads))
	for i, p := range payloads {
		ms[i] = broker.Message{Type: ferry.JSON, Payload: []byte(p)}
	}
	return ms
}

func localTag(t *testing.T, c *broker.Local, name string) *broker.LocalTag {
	t.Helper()
	to, err := c.Tag(name)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func jsonBroker(t *testing.T, cfg broker.Config) (*broker.Broker, string) {
	t.Helper()
	cfg.Formats = []format.Format{json.Format{}}
	return serve(t, cfg)
}

func TestLocalReceivesWhatMatches(t *testing.T) {
	b, addr := jsonBroker(t, broker.Config{})
	l := localListener(b)
	sender, _ := connectLocal(t, l, 0)
	receiver, h := connectLocal(t, l, 1000)
	if _, err := receiver.Subscribe(broker.LocalSubConfig{Filter: "a/#", Where: "x > 1"}); err != nil {
		t.Fatal(err)
	}
	remote := greet(t, addr)
	remote.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "a/+"})
	publishLocal(t, b, localTag(t, sender, "a/b"), `{"x":1}`, `{"x":2}`, `{"x":3}`)
	wantEqual(t, h.messages(), []string{`a/b {"x":2}`, `a/b {"x":3}`})
	if h.flushed == 0 {
		t.Error("Flush was not called")
	}
	var payloads []string
	for len(payloads) < 3 {
		if f := remote.read(); f.Kind() == native.Pub {
			payloads = append(payloads, string(f.Payload()))
			wantEqual(t, f.Source(), sender.ID())
		}
	}
	wantEqual(t, payloads, []string{`{"x":1}`, `{"x":2}`, `{"x":3}`})
	h7 := native.PubHeader{Type: ferry.JSON, Tag: remote.tag("a/c"), Source: remote.id}
	remote.write(native.AppendPub(nil, h7, []byte(`{"x":7}`)))
	h.await(t, "the message of a connection", func() bool { return len(h.got) == 3 })
}

func TestLocalTakesInPieces(t *testing.T) {
	b, _ := jsonBroker(t, broker.Config{})
	l := localListener(b)
	sender, _ := connectLocal(t, l, 0)
	receiver, h := connectLocal(t, l, 3)
	if _, err := receiver.Subscribe(broker.LocalSubConfig{Filter: "a"}); err != nil {
		t.Fatal(err)
	}
	var want, payloads []string
	for i := range 300 {
		payloads = append(payloads, fmt.Sprint(i))
		want = append(want, fmt.Sprint("a ", i))
	}
	publishLocal(t, b, localTag(t, sender, "a"), payloads...)
	wantEqual(t, h.messages(), want[:3])
	for n := 3; n < 300; n += 100 {
		h.allow(100)
		receiver.Resume()
		wantEqual(t, h.messages(), want[:min(n+100, 300)])
	}
}

func TestLocalBackpressure(t *testing.T) {
	b, _ := jsonBroker(t, broker.Config{Window: 1000, Queue: 1000})
	l := localListener(b)
	sender, s := connectLocal(t, l, 0)
	receiver, h := connectLocal(t, l, 0)
	if _, err := receiver.Subscribe(broker.LocalSubConfig{Filter: "a", Policy: native.Block}); err != nil {
		t.Fatal(err)
	}
	to := localTag(t, sender, "a")
	batch := broker.NewBatch(b)
	batch.Begin()
	published := 0
	for range 1000 {
		n, err := batch.Publish(to, jsonMessages(`"some text"`), nil)
		if err != nil {
			t.Fatal(err)
		}
		published += n
		if n == 0 {
			break
		}
	}
	if published == 0 || published > 100 {
		t.Fatalf("%d messages were taken: the queue does not hold back the publisher", published)
	}
	h.allow(1000)
	receiver.Resume()
	s.await(t, "Ready", func() bool { return s.ready == 1 })
	wantEqual(t, len(h.messages()), published)
	if n, err := batch.Publish(to, jsonMessages(`"more"`), nil); n != 1 || err != nil {
		t.Errorf("Publish took %d messages, err %v", n, err)
	}
}

func code(err error) native.Code {
	var e *native.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return native.CodeOK
}

func TestLocalRefusals(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{{
		Identity:  broker.Identity{Name: "dev", Publish: []string{"a/#"}, Subscribe: []string{"b"}},
		TokenHash: broker.HashToken([]byte("secret")),
	}})
	wantNoError(t, err)
	b, _ := jsonBroker(t, broker.Config{Identify: ids.Identify, MaxConnections: 1, MaxSubs: 1, MaxFrame: 4096})
	l := localListener(b)
	h := newLocalClient(10)
	_, err = l.Connect(broker.LocalConfig{Token: []byte("wrong"), Handler: h})
	wantEqual(t, code(err), native.CodeUnauthenticated)
	c, err := l.Connect(broker.LocalConfig{Token: []byte("secret"), Handler: h})
	wantNoError(t, err)
	defer c.Close()
	_, err = l.Connect(broker.LocalConfig{Token: []byte("secret"), Handler: h})
	wantEqual(t, code(err), native.CodeLimit)
	_, err = c.Tag("b")
	wantEqual(t, code(err), native.CodeForbidden)
	_, err = c.Tag("a/+")
	wantEqual(t, code(err), native.CodeBadRequest)
	_, err = c.Subscribe(broker.LocalSubConfig{Filter: "a"})
	wantEqual(t, code(err), native.CodeForbidden)
	_, err = c.Subscribe(broker.LocalSubConfig{Filter: "b", Where: "x >"})
	wantEqual(t, code(err), native.CodeBadRequest)
	_, err = c.Subscribe(broker.LocalSubConfig{Filter: "b", Durable: "d"})
	wantEqual(t, code(err), native.CodeBadRequest)
	if _, err = c.Subscribe(broker.LocalSubConfig{Filter: "b"}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Subscribe(broker.LocalSubConfig{Filter: "b"})
	wantEqual(t, code(err), native.CodeLimit)

	to := localTag(t, c, "a/x")
	batch := broker.NewBatch(b)
	batch.Begin()
	n, err := batch.Publish(to, jsonMessages("1", "2", "{", "4"), nil)
	wantEqual(t, n, 2)
	wantEqual(t, code(err), native.CodeInvalid)
	n, err = batch.Publish(to, jsonMessages(`"`+strings.Repeat("x", 5000)+`"`), nil)
	wantEqual(t, n, 0)
	wantEqual(t, code(err), native.CodeTooLarge)
	wantEqual(t, b.Snapshot().Dropped["invalid"], uint64(2))

	other, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "dev", Publish: []string{"c"}}, TokenHash: broker.HashToken([]byte("secret"))}})
	wantNoError(t, err)
	b.SetIdentities(other)
	h.await(t, "Ended", func() bool { return len(h.ended) == 1 })
	_, err = batch.Publish(to, jsonMessages("1"), nil)
	wantEqual(t, code(err), native.CodeForbidden)
	none, err := broker.NewIdentities(nil)
	wantNoError(t, err)
	b.SetIdentities(none)
	h.await(t, "Closed", func() bool { return len(h.closed) == 1 })
	wantEqual(t, code(h.closed[0]), native.CodeUnauthenticated)
	_, err = batch.Publish(to, jsonMessages("1"), nil)
	wantEqual(t, code(err), native.CodeDraining)
	wantEqual(t, b.Snapshot().Connections, 0)
}

func TestLocalConfirmsWhenStored(t *testing.T) {
	e := newEngine(t)
	stream := openStream(t, e, "events", "a/#")
	slow := &storage{Stream: stream.Stream, closed: true}
	stream.Stream = slow
	b, _ := jsonBroker(t, broker.Config{Stored: []broker.Stored{stream}})
	c, h := connectLocal(t, localListener(b), 0)
	to := localTag(t, c, "a/b")
	batch := broker.NewBatch(b)
	batch.Begin()
	var payloads []string
	for i := range 200 {
		payloads = append(payloads, fmt.Sprint(i))
	}
	stored := func(err error) { h.note(func() { h.got = append(h.got, fmt.Sprint("stored ", err)) }) }
	n, err := batch.Publish(to, jsonMessages(payloads...), stored)
	if n != 200 || err != nil {
		t.Fatalf("Publish took %d messages, err %v", n, err)
	}
	batch.End()
	wantEqual(t, len(h.messages()), 0)
	slow.open()
	h.await(t, "stored", func() bool { return len(h.got) > 0 })
	wantEqual(t, h.messages(), []string{"stored <nil>"})

	live, err := c.Tag("z")
	wantNoError(t, err)
	if n, err := batch.Publish(live, jsonMessages("1"), stored); n != 1 || err != nil {
		t.Fatalf("Publish took %d messages, err %v", n, err)
	}
	wantEqual(t, h.messages(), []string{"stored <nil>", "stored <nil>"})
}

func TestLocalDurable(t *testing.T) {
	e := newEngine(t)
	b, _ := jsonBroker(t, broker.Config{Stored: []broker.Stored{openStream(t, e, "events", "a/#")}})
	l := localListener(b)
	sender, _ := connectLocal(t, l, 0)
	to := localTag(t, sender, "a/b")
	publishLocal(t, b, to, "1", "2", "3", "4", "5")
	c, h := connectLocal(t, l, 2)
	s, err := c.Subscribe(broker.LocalSubConfig{Filter: "a/#", Durable: "d", Start: native.StartFirst})
	wantNoError(t, err)
	h.await(t, "two messages", func() bool { return len(h.opened) == 1 && len(h.got) == 2 })
	s.Ack(1, 1)
	s.Nak(2, 1, broker.NakRetry, time.Millisecond, "try again")
	h.allow(100)
	c.Resume()
	h.await(t, "the others", func() bool { return len(h.got) == 6 })
	wantEqual(t, h.messages(), []string{"a/b 1", "a/b 2", "a/b 2", "a/b 3", "a/b 4", "a/b 5"})
	s.Ack(2, 3) // not 5
	c.Close()

	again, h2 := connectLocal(t, l, 100)
	_, err = again.Subscribe(broker.LocalSubConfig{Filter: "a/#", Durable: "d"})
	wantNoError(t, err)
	h2.await(t, "what was not acked", func() bool { return len(h2.got) == 1 })
	wantEqual(t, h2.messages(), []string{"a/b 5"})
}

func TestLocalReplay(t *testing.T) {
	e := newEngine(t)
	b, _ := jsonBroker(t, broker.Config{Stored: []broker.Stored{openStream(t, e, "events", "a/#")}})
	l := localListener(b)
	sender, _ := connectLocal(t, l, 0)
	to := localTag(t, sender, "a/b")
	publishLocal(t, b, to, "1", "2", "3", "4")
	c, h := connectLocal(t, l, 1)
	_, err := c.Subscribe(broker.LocalSubConfig{Filter: "a/#", Start: native.StartSequence, Value: 2})
	wantNoError(t, err)
	h.await(t, "one message", func() bool { return len(h.got) == 1 })
	h.allow(100)
	c.Resume()
	h.await(t, "the others", func() bool { return len(h.got) == 3 })
	publishLocal(t, b, to, "5")
	h.await(t, "the new one", func() bool { return len(h.got) == 4 })
	wantEqual(t, h.seqs, []uint64{2, 3, 4, 5})
}

func TestLocalLeaves(t *testing.T) {
	b, _ := jsonBroker(t, broker.Config{})
	l := localListener(b)
	c, h := connectLocal(t, l, 0)
	to := localTag(t, c, "a")
	if _, err := c.Subscribe(broker.LocalSubConfig{Filter: "b"}); err != nil {
		t.Fatal(err)
	}
	to.Close()
	wantEqual(t, len(b.Snapshot().Tags), 0)
	left := make(chan error, 1)
	go func() { left <- l.Drain(t.Context()) }()
	h.await(t, "Drain", func() bool { return h.drained })
	c.Close()
	wantNoError(t, <-left)
	wantEqual(t, len(b.Snapshot().Subscriptions), 0)
	if _, err := l.Connect(broker.LocalConfig{Handler: h}); code(err) != native.CodeDraining {
		t.Errorf("Connect after Drain: %v", err)
	}
}

func wantEqual[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func wantNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTagsOfClosedClient: a grant is given back once, and a client that has ended gets none.
func TestTagsOfClosedClient(t *testing.T) {
	b, _ := serve(t, broker.Config{Formats: []format.Format{json.Format{}}})
	l := localListener(b)
	first, _ := connectLocal(t, l, 0)
	second, _ := connectLocal(t, l, 0)
	gone, stays := localTag(t, first, "a"), localTag(t, second, "a")
	first.Close()
	gone.Close()
	if _, err := first.Tag("b"); err == nil {
		t.Error("a client that has ended gets a grant")
	}
	if tags := b.Snapshot().Tags; len(tags) != 1 || tags[0].Name != "a" {
		t.Errorf("tags %+v, want a, which a client publishes on", tags)
	}
	sub, h := connectLocal(t, l, 1)
	if _, err := sub.Subscribe(broker.LocalSubConfig{Filter: "a"}); err != nil {
		t.Fatal(err)
	}
	publishLocal(t, b, stays, "1")
	h.await(t, "the message", func() bool { return len(h.got) == 1 })
}

// logLines counts the records of a log.
type logLines struct {
	slog.Handler
	count *atomic.Int64
}

func (l logLines) Enabled(context.Context, slog.Level) bool { return true }

func (l logLines) Handle(context.Context, slog.Record) error {
	l.count.Add(1)
	return nil
}

// TestRefusalLog: a peer that tries tokens does not fill the log.
func TestRefusalLog(t *testing.T) {
	ids, err := broker.NewIdentities(nil)
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	b, _ := serve(t, broker.Config{Identify: ids.Identify, Log: slog.New(logLines{slog.DiscardHandler, &count})})
	l := localListener(b)
	began := time.Now()
	for range 1000 {
		if _, err := l.Connect(broker.LocalConfig{Addr: "test", Token: []byte("wrong"), Handler: newLocalClient(0)}); err == nil {
			t.Fatal("a client with a wrong token is accepted")
		}
	}
	if n, most := count.Load(), 2+int64(time.Since(began)/time.Second); n < 1 || n > most {
		t.Errorf("the log has %d lines, want 1 to %d", n, most)
	}
}
