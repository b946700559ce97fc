package broker_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/protocol/native"
)

// slowStream opens cursors whose Next waits while slow is set, and counts them.
type slowStream struct {
	engine.Stream
	slow   atomic.Bool
	opened atomic.Int32
}

func (s *slowStream) Cursor(ctx context.Context, c engine.CursorConfig) (engine.Cursor, error) {
	cursor, err := s.Stream.Cursor(ctx, c)
	if err == nil {
		s.opened.Add(1)
		cursor = slowCursor{cursor, s}
	}
	return cursor, err
}

type slowCursor struct {
	engine.Cursor
	stream *slowStream
}

func (c slowCursor) Next(ctx context.Context, limit, bytes int) ([]engine.Record, error) {
	if c.stream.slow.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c.Cursor.Next(ctx, limit, bytes)
}

// vanish ends the connection of the only member, and waits until the durable is closed.
func vanish(t *testing.T, b *broker.Broker, p *peer) {
	t.Helper()
	_ = p.conn.Close()
	eventually(t, "the durable is closed", func() bool { return workStats(t, b).State == "closed" })
}

// TestDeliveriesAreKept: a message that ends each process that gets it becomes a dead letter after MaxDeliveries, whether a window is
// closed before it has read anything, or the node is another one each time.
func TestDeliveriesAreKept(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			e := newEngine(t)
			s, dead := openStream(t, e, "orders", "orders/#"), openStream(t, e, "dead", "dead/#")
			slow := &slowStream{Stream: s.Stream}
			s.Stream, s.MaxDeliveries, s.DeadLetter = slow, 3, "dead/orders"
			b, addr := serve(t, broker.Config{Stored: []broker.Stored{s, dead}})
			pub := greet2(t, addr)
			pub.publish(pub.tag("orders/1"), "poison")
			letters := uint64(0)
			for before := range uint32(3) {
				p := worker(t, addr, 1<<20)
				if m := p.expectMessages("poison")[0]; m.Deliveries != before {
					t.Fatalf("the message says %d deliveries before, want %d", m.Deliveries, before)
				}
				vanish(t, b, p)

				slow.slow.Store(true)
				opened := slow.opened.Load()
				p = worker(t, addr, 1<<20)
				eventually(t, "the cursor is open", func() bool { return slow.opened.Load() > opened && workStats(t, b).State == "reading" })
				vanish(t, b, p)
				slow.slow.Store(false)
				letters += workStats(t, b).DeadLetters
				if restart {
					b, addr = serve(t, broker.Config{Stored: []broker.Stored{s, dead}})
				} else {
					letters = workStats(t, b).DeadLetters
				}
			}
			info, err := dead.Stream.Info(t.Context())
			if err != nil || info.Records != 1 || letters != 1 {
				t.Errorf("%d dead letters are stored, %d are counted, %v, want 1", info.Records, letters, err)
			}
		})
	}
}

// TestLastMemberLeavesADeadLetter: the connection of the last member is lost with a message that has no delivery left. The message is a
// dead letter once, and the durable is behind it, however late the next member comes.
func TestLastMemberLeavesADeadLetter(t *testing.T) {
	e := newEngine(t)
	s, dead := openStream(t, e, "orders", "orders/#"), openStream(t, e, "dead", "dead/#")
	held := &storage{Stream: dead.Stream, closed: true}
	dead.Stream = held
	s.MaxDeliveries, s.DeadLetter = 1, "dead/orders"
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s, dead}})
	pub := greet2(t, addr)
	pub.publish(pub.tag("orders/1"), "poison")
	p := worker(t, addr, 1<<20)
	p.expectMessages("poison")
	_ = p.conn.Close()
	eventually(t, "the dead letter waits for its stream", func() bool {
		held.mu.Lock()
		defer held.mu.Unlock()
		return len(held.waiting) == 1
	})
	held.open()
	eventually(t, "the durable is closed", func() bool { return workStats(t, b).State == "closed" })
	cursors, err := s.Stream.Cursors(t.Context())
	if err != nil || len(cursors) != 1 || cursors[0].Position.Floor != 1 {
		t.Errorf("the position is %+v, %v, want floor 1", cursors, err)
	}
	if v := workStats(t, b); v.DeadLetters != 1 {
		t.Errorf("%d dead letters are counted, want 1", v.DeadLetters)
	}
	pub.publish(pub.tag("orders/2"), "good")
	p = worker(t, addr, 1<<20)
	p.expectMessages("good")
	if info, err := held.Stream.Info(t.Context()); err != nil || info.Records != 1 {
		t.Errorf("%d dead letters are stored, %v, want 1", info.Records, err)
	}
}

// TestPredicateIsKept: a durable keeps its filter and its predicate when it has no member, and over a restart. Another one is refused,
// and moves nothing.
func TestPredicateIsKept(t *testing.T) {
	e := newEngine(t)
	s := openStream(t, e, "orders", "orders/#")
	cfg := broker.Config{Stored: []broker.Stored{s}}
	sub := native.SubFrame{Filter: "orders/#", Durable: "work", Start: native.StartFirst}
	b, addr := serve(t, cfg)
	p := greet2(t, addr)
	p.subscribeStored(sub)
	vanish(t, b, p)
	for range 2 {
		pub := greet2(t, addr)
		pub.publish(pub.tag("orders/1"), `{"n":1}`)
		for _, other := range []native.SubFrame{
			{Filter: "orders/#", Where: "n > 2", Durable: "work"}, {Filter: "orders/1", Durable: "work"},
		} {
			r := greet2(t, addr).subscribeStored(other)
			if r.Code != native.CodeBadRequest || !strings.Contains(r.Reason, `"work"`) || !strings.Contains(r.Reason, "delete it") {
				t.Errorf("SUB with filter %q and predicate %q: %d %q, want a bad request that says what to do", other.Filter, other.Where, r.Code, r.Reason)
			}
		}
		p := greet2(t, addr)
		p.subscribeStored(sub)
		p.ack(p.expectMessages(`{"n":1}`)...)
		p.settled()
		vanish(t, b, p)
		b, addr = serve(t, cfg)
	}
	cursors, err := s.Stream.Cursors(t.Context())
	if err != nil || len(cursors) != 1 || cursors[0].Filter != "orders/#" || cursors[0].Where != "" || cursors[0].Owner != "anyone" {
		t.Errorf("the engine has %+v, %v", cursors, err)
	}
}

// TestDurablesAreBounded: one connection cannot make durables without end. Those that it has go on, and when one is deleted it may make
// another.
func TestDurablesAreBounded(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := greet2(t, addr)
	try := func(name string) native.ResultFrame {
		r := p.subscribeStored(native.SubFrame{Filter: "orders/#", Durable: name})
		p.unsubscribe(1)
		return r
	}
	made := 0
	for ; made < 3000; made++ {
		if r := try(fmt.Sprint("d", made)); r.Code != native.CodeOK {
			if r.Code != native.CodeLimit || !strings.Contains(r.Reason, "anyone") || !strings.Contains(r.Reason, "delete") {
				t.Errorf("the refusal is %d %q", r.Code, r.Reason)
			}
			break
		}
	}
	all, err := s.Stream.Cursors(t.Context())
	if err != nil || len(all) != made || made != 1024 {
		t.Fatalf("%d durables were made, the engine has %d, %v, want 1024", made, len(all), err)
	}
	if r := try("d7"); r.Code != native.CodeOK {
		t.Errorf("a durable that exists: %d %q", r.Code, r.Reason)
	}
	eventually(t, "a durable without members is deleted", func() bool { return b.ForgetDurable("orders", "d8") == nil })
	if err := s.Stream.DeleteCursor(t.Context(), "d8"); err != nil {
		t.Fatal(err)
	}
	if r := try("another"); r.Code != native.CodeOK {
		t.Errorf("after one was deleted: %d %q", r.Code, r.Reason)
	}
}

// TestLargerWindow: a reload that makes the windows of durables much larger, or smaller, stops none.
func TestLargerWindow(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, DurableWindow: 1 << 20})
	pub := greet2(t, addr)
	tag := pub.tag("orders/1")
	w := worker(t, addr, 1<<20)
	for i, size := range []int{1 << 20, 16 << 20, 512 << 20, 4 << 10, 32 << 20} {
		set, err := b.PrepareLimits(broker.Config{DurableWindow: size})
		if err != nil {
			t.Fatal(err)
		}
		set()
		for j := range 3 { // a read that waits already brings the first
			pub.publish(tag, fmt.Sprint(i, j))
			w.ack(w.expectMessages(fmt.Sprint(i, j))...)
		}
	}
}

// TestLostConnectionCountsWhatWasTried: a member that handles two messages at a time loses its connection. The two that it has had
// longest count as delivered, and the others come back untried. Without a concurrency all count.
func TestLostConnectionCountsWhatWasTried(t *testing.T) {
	for _, c := range []struct {
		concurrency uint16
		want        string // deliveries before, by message
	}{{2, "00110"}, {0, "01111"}} {
		t.Run(fmt.Sprint(c.concurrency), func(t *testing.T) {
			s := openStream(t, newEngine(t), "orders", "orders/#")
			b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
			pub := greet2(t, addr)
			for i, payload := range orders(5) {
				pub.publish(pub.tag(fmt.Sprint("orders/", i)), payload)
			}
			sub := native.SubFrame{Filter: "orders/#", Durable: "work", Start: native.StartFirst, Concurrency: c.concurrency}
			p := greet2(t, addr)
			p.subscribeStored(sub)
			got := p.expectMessages(orders(5)...)
			p.nak(native.FlagNotTried, got[1]) // it comes again, behind the others
			got = append(got, p.expectMessages("order 2")...)
			p.ack(got[0])
			p.settled()
			vanish(t, b, p)
			p = greet2(t, addr)
			p.subscribeStored(sub)
			counts := "0"
			for _, m := range p.expectMessages(orders(5)[1:]...) {
				counts += fmt.Sprint(m.Deliveries)
			}
			if counts != c.want {
				t.Errorf("the messages were delivered %s times before, want %s", counts, c.want)
			}
		})
	}
}

// TestWindowIsKept: a durable keeps its window, and the cursor, for the member that comes next. The window is closed when nothing comes,
// when the durable is forgotten, when the stream leaves the configuration, and at the end of the Broker.
func TestWindowIsKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		keep   time.Duration
		window int
		end    func(t *testing.T, b *broker.Broker)
	}{
		{"time", 50 * time.Millisecond, 1 << 20, func(*testing.T, *broker.Broker) {}},
		{"forgotten", time.Hour, 1 << 20, func(t *testing.T, b *broker.Broker) {
			if err := b.ForgetDurable("orders", "work"); err != nil {
				t.Error(err)
			}
		}},
		{"removed stream", time.Hour, 1 << 20, func(t *testing.T, b *broker.Broker) {
			set, err := b.PrepareStreams(nil)
			if err != nil {
				t.Fatal(err)
			}
			set()
		}},
		{"shutdown", time.Hour, 1 << 20, func(t *testing.T, b *broker.Broker) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the connections need not be drained
			_ = b.Shutdown(ctx)
		}},
		{"no memory", time.Hour, 256, func(*testing.T, *broker.Broker) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openStream(t, newEngine(t), "orders", "orders/#")
			counted := &slowStream{Stream: s.Stream}
			s.Stream, s.KeepWindow = counted, time.Hour
			b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
			pub := greet2(t, addr)
			tag := pub.tag("orders/1")
			pub.publish(tag, "a", "b")
			p := worker(t, addr, 1<<20)
			p.ack(p.expectMessages("a", "b")[0])
			_ = p.conn.Close()
			eventually(t, "the member has left", func() bool { return len(workStats(t, b).Members) == 0 })
			p = worker(t, addr, 1<<20)
			p.expectMessages("b")
			pub.publish(tag, "c")
			p.expectMessages("c")
			if n := counted.opened.Load(); n != 1 {
				t.Errorf("%d cursors were opened, want 1", n)
			}

			s.KeepWindow = c.keep
			set, err := b.PrepareStreams([]broker.Stored{s})
			if err != nil {
				t.Fatal(err)
			}
			set()
			limits, err := b.PrepareLimits(broker.Config{DurableWindow: c.window})
			if err != nil {
				t.Fatal(err)
			}
			limits()
			_ = p.conn.Close()
			eventually(t, "the member has left", func() bool { return len(workStats(t, b).Members) == 0 })
			c.end(t, b)
			eventually(t, "the cursor is free", func() bool {
				all, err := s.Stream.Cursors(t.Context())
				return err == nil && len(all) == 1 && all[0].Holder == ""
			})
			free, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			cursor, err := s.Stream.Cursor(free, engine.CursorConfig{Name: "work", Filter: "orders/#"})
			if err != nil {
				t.Fatal(err)
			}
			if p := cursor.Position(); p.Floor != 1 || len(p.Deliveries) != 2 {
				t.Errorf("the position is %+v, want floor 1 and two messages that were delivered", p)
			}
			_ = cursor.Close(t.Context())
		})
	}
}
