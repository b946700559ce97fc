package broker_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/broker/stored"
	"example.com/ferry/engine"
	"example.com/ferry/protocol/native"
)

// worker subscribes to durable "work" of orders/#, from the first message.
func worker(t *testing.T, addr string, window uint32) *peer {
	t.Helper()
	p := greet2(t, addr)
	v := p.subscribeStored(native.SubFrame{Filter: "orders/#", Durable: "work", Start: native.StartFirst, Window: window})
	if v.Code != native.CodeOK {
		t.Fatal(v)
	}
	return p
}

func orders(n int) (payloads []string) {
	for i := range n {
		payloads = append(payloads, fmt.Sprintf("order %d", i+1))
	}
	return payloads
}

// TestDurableResumes: a durable delivers what was stored before and after it began. After its member has left it continues behind
// what was acked, and counts what was not acked as delivered.
func TestDurableResumes(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	src := greet2(t, addr)
	tag := src.tag("orders/1")
	src.publish(tag, orders(3)...)
	first := greet2(t, addr)
	if v := first.subscribeStored(native.SubFrame{Filter: "orders/#", Durable: "work", Start: native.StartFirst}); v.Value != 30000 {
		t.Errorf("the acknowledgement time is %d ms", v.Value)
	}
	got := first.expectMessages(orders(3)...)
	if m := got[1]; m.Sequence != 2 || m.Deliveries != 0 || string(m.Tag) != "orders/1" {
		t.Errorf("got %+v", m)
	}
	src.publish(tag, "order 4")
	got = append(got, first.expectMessages("order 4")...)
	first.ack(got[0], got[2])
	eventually(t, "two are done", func() bool { return workStats(t, b).Held == 2 })
	_ = first.conn.Close()
	eventually(t, "the cursor is closed", func() bool { return workStats(t, b).State == "closed" })
	src.publish(tag, "order 5")
	second := worker(t, addr, 1<<20)
	got = second.expectMessages("order 2", "order 4", "order 5")
	for i, want := range []uint32{1, 1, 0} {
		if got[i].Deliveries != want {
			t.Errorf("message %d was delivered %d times before, want %d", i, got[i].Deliveries, want)
		}
	}
	second.ack(got...)
	eventually(t, "all is done", func() bool {
		d := workStats(t, b)
		return d.Held == 0 && d.Floor == 5 && d.HeldBytes == 0
	})
	eventually(t, "the position is stored", func() bool {
		cursors, err := s.Stream.Cursors(t.Context())
		return err == nil && len(cursors) == 1 && cursors[0].Position.Floor == 5
	})
}

// TestNewDurable: a durable that begins with new messages gets all that are published after the RESULT of its SUB.
func TestNewDurable(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	_, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	src := greet2(t, addr)
	tag := src.tag("orders/1")
	src.publish(tag, "old")
	for i := range 20 {
		p := greet2(t, addr)
		v := native.SubFrame{Filter: "orders/#", Start: native.StartNew}
		if i%2 == 0 {
			v = native.SubFrame{Filter: "orders/#", Durable: fmt.Sprintf("work-%d", i)}
		}
		if v := p.subscribeStored(v); v.Code != native.CodeOK {
			t.Fatal(v)
		}
		payload := fmt.Sprintf("new %d", i)
		src.publish(tag, payload)
		p.expectMessages(payload)
		_ = p.conn.Close()
	}
}

// TestStartIsStored: the RESULT of the SUB of a new durable comes after the engine has stored where the durable begins. A node that is
// killed right after it goes on there.
func TestStartIsStored(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.Stream = cursorless{s.Stream}
	_, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	src := greet2(t, addr)
	src.publish(src.tag("orders/1"), orders(3)...)
	for _, c := range []struct {
		name  string
		sub   native.SubFrame
		floor uint64
	}{
		{"new", native.SubFrame{Start: native.StartNew}, 3},
		{"first", native.SubFrame{Start: native.StartFirst}, 0},
		{"sequence", native.SubFrame{Start: native.StartSequence, Value: 3}, 2},
	} {
		c.sub.Filter, c.sub.Durable = "orders/#", c.name
		greet2(t, addr).subscribeStored(c.sub)
		all, err := s.Stream.Cursors(t.Context())
		i := slices.IndexFunc(all, func(i engine.CursorInfo) bool { return i.Name == c.name })
		if err != nil || i < 0 || all[i].Position.Floor != c.floor {
			t.Errorf("%s: after the RESULT the engine has %+v, %v, want a cursor at %d", c.name, all, err, c.floor)
		}
	}
}

// cursorless is a Stream on which no cursor can be opened, as after the end of the node.
type cursorless struct{ engine.Stream }

func (cursorless) Cursor(ctx context.Context, _ engine.CursorConfig) (engine.Cursor, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestMembersShare: members of a durable share its messages. Messages of a member whose connection is lost, or that unsubscribes, go
// to the others.
func TestMembersShare(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	members := []*peer{worker(t, addr, 1<<20), worker(t, addr, 1<<20), worker(t, addr, 1<<20)}
	eventually(t, "all have joined", func() bool { return len(workStats(t, b).Members) == 3 })
	src := greet2(t, addr)
	var all []string
	for i := range 30 {
		payload := fmt.Sprintf("order %d", i)
		all = append(all, payload)
		src.publish(src.tag(fmt.Sprintf("orders/%d", i)), payload)
	}
	eventually(t, "each holds a third", func() bool {
		return !slices.ContainsFunc(workStats(t, b).Members, func(m stored.MemberStats) bool { return m.InFlight != 10 })
	})
	_ = members[0].conn.Close()
	eventually(t, "its messages came back", func() bool { return len(workStats(t, b).Members) == 2 })
	members[1].write(native.AppendUnsubNotTried(nil, 1))
	var got []string
	deliveries := 0
	for range 30 {
		m := members[2].nextStored()
		deliveries += int(m.Deliveries)
		got = append(got, m.payload)
		members[2].ack(m)
	}
	slices.Sort(all)
	if slices.Sort(got); !slices.Equal(got, all) {
		t.Errorf("got %q", got)
	}
	if deliveries != 10 {
		t.Errorf("%d messages count as delivered before, want those of the lost connection", deliveries)
	}
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 30 })
}

// TestNakOrder: after a NAK the messages of that key come again in order, and those of other keys are not delayed.
func TestNakOrder(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.Backoff = []time.Duration{100 * time.Millisecond}
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p, src := worker(t, addr, 1<<20), greet2(t, addr)
	tag := src.tag("orders/1")
	for _, m := range []string{"a1", "b1", "a2", "b2", "a3"} {
		src.publishKeyed(tag, m[:1], m)
	}
	got := p.expectMessages("a1", "b1", "a2", "b2", "a3")
	if string(got[0].Key) != "a" {
		t.Errorf("key %q", got[0].Key)
	}
	p.ack(got[1])
	p.nak(0, got[0])
	eventually(t, "the node has the NAK", func() bool { return workStats(t, b).Members[0].Naked == 1 })
	src.publishKeyed(tag, "b", "b3")
	src.publishKeyed(tag, "a", "a4")
	p.ack(p.expectMessages("b3")...)
	p.nak(native.FlagNotTried, got[2])
	p.nak(native.FlagNotTried, got[4])
	again := p.expectMessages("a1", "a2", "a3", "a4")
	for i, want := range []uint32{1, 0, 0, 0} {
		if again[i].Deliveries != want {
			t.Errorf("%s was delivered %d times before, want %d", again[i].payload, again[i].Deliveries, want)
		}
	}
	p.ack(append(again, got[3])...)
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 7 })
	if d := workStats(t, b); d.Redelivered != 1 || d.Members[0].Naked != 1 {
		t.Errorf("%+v", d)
	}
}

// TestDeadLetters: a message that fails for the last time, and one that is rejected, become dead letters that say where they come
// from. The messages behind them go on.
func TestDeadLetters(t *testing.T) {
	e := newEngine(t)
	s, dead := openStream(t, e, "orders", "orders/#"), openStream(t, e, "dead", "dead/#")
	s.MaxDeliveries, s.DeadLetter = 2, "dead/orders"
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s, dead}})
	p, src := worker(t, addr, 1<<20), greet2(t, addr)
	src.publish(src.tag("orders/1"), orders(3)...)
	got := p.expectMessages(orders(3)...)
	p.nak(0, got[0])
	p.nak(native.FlagNotTried, got[1])
	p.nak(native.FlagNotTried, got[2])
	got = p.expectMessages(orders(3)...)
	p.nak(0, got[0])
	p.nak(native.FlagReject, got[1])
	p.ack(got[2])
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 3 })
	if d := workStats(t, b); d.DeadLetters != 2 || d.Dropped != 0 {
		t.Errorf("%+v", d)
	}
	reader := greet2(t, addr)
	reader.subscribeStored(native.SubFrame{Filter: "dead/#", Start: native.StartFirst})
	for i, want := range []native.DeadLetter{
		{Stream: "orders", Sequence: 1, Deliveries: 2, Tag: "orders/1", Reason: "it is broken"},
		{Stream: "orders", Sequence: 2, Deliveries: 1, Tag: "orders/1", Reason: "it is broken"},
	} {
		var f native.Frame
		for f = reader.read(); f.Kind() != native.Pub; f = reader.read() {
		}
		value, _ := native.Entry(f.Extension(), native.TLVDeadLetter)
		if d, ok := native.ParseDeadLetter(value); !ok || d != want || string(f.Payload()) != orders(2)[i] {
			t.Errorf("dead letter %q: %+v, want %+v", f.Payload(), d, want)
		}
	}
}

// TestNoDeadLetter: without a stream for dead letters, a message that fails for the last time is dropped and counted.
func TestNoDeadLetter(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.MaxDeliveries = 1
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p, src := worker(t, addr, 1<<20), greet2(t, addr)
	src.publish(src.tag("orders/1"), orders(2)...)
	got := p.expectMessages(orders(2)...)
	p.nak(0, got[0])
	p.ack(got[1])
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 2 })
	if d := workStats(t, b); d.DeadLetters != 0 || d.Dropped != 1 {
		t.Errorf("%+v", d)
	}
}

// TestCrashingMember: a message that ends its member's connection each time is a dead letter in the end, although the durable has no
// member in between.
func TestCrashingMember(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.MaxDeliveries = 3
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	src := greet2(t, addr)
	src.publish(src.tag("orders/1"), "poison")
	src.publish(src.tag("orders/2"), "good")
	for i := range 3 {
		p := greet2(t, addr)
		p.subscribeStored(native.SubFrame{Filter: "orders/#", Durable: "work", Start: native.StartFirst, Window: 1}) // takes one message
		if m := p.nextStored(); m.payload != "poison" || m.Deliveries != uint32(i) {
			t.Fatalf("got %+v", m)
		}
		_ = p.conn.Close()
		eventually(t, "the cursor is closed", func() bool { return workStats(t, b).State == "closed" })
	}
	p := worker(t, addr, 1<<20)
	p.ack(p.expectMessages("good")...)
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 2 })
}

// TestMemberNeverAcks: messages that a member does not ack in time go to another one. In progress extends the time.
func TestMemberNeverAcks(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.AckWait = 2 * time.Second
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	dead := worker(t, addr, 1<<20)
	src := greet2(t, addr)
	src.publish(src.tag("orders/1"), orders(2)...)
	dead.expectMessages(orders(2)...)
	good := worker(t, addr, 1<<20)
	got := good.expectMessages(orders(2)...)
	if got[0].Deliveries != 1 {
		t.Errorf("got %+v", got[0])
	}
	for end := time.Now().Add(s.AckWait * 5 / 4); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		good.write(native.AppendAck(nil, native.AckFrame{Sub: 1, InProgress: true}))
	}
	good.ack(got...)
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 2 })
	d := workStats(t, b)
	for _, m := range d.Members {
		if want := map[bool]uint64{true: 0, false: 2}[m.Acked == 2]; m.Expired != want {
			t.Errorf("%+v", m)
		}
	}
}

// TestSlowMember: a member without credit gets no message beyond its window. Another one takes the rest.
func TestSlowMember(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	slow, fast := worker(t, addr, 1000), worker(t, addr, 1<<20)
	eventually(t, "both have joined", func() bool { return len(workStats(t, b).Members) == 2 })
	src := greet2(t, addr)
	for i := range 50 {
		src.publish(src.tag(fmt.Sprintf("orders/%d", i)), string(make([]byte, 400)))
	}
	held := slow.expectMessages(string(make([]byte, 400)), string(make([]byte, 400)), string(make([]byte, 400)))
	for range 47 {
		fast.ack(fast.nextStored())
	}
	eventually(t, "the node has the acks of the fast one", func() bool {
		return slices.ContainsFunc(workStats(t, b).Members, func(m stored.MemberStats) bool { return m.Acked == 47 })
	})
	slow.credit(held...)
	src.publish(src.tag("orders/x"), "for the one that holds less")
	fast.ack(fast.expectMessages("for the one that holds less")...)
	slow.ack(held...)
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 51 })
}

// TestStuckKey: a key that is never acked does not stop the others, as long as the memory of the durable has room. Its position stays
// below the first message that is not done.
func TestStuckKey(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, DurableWindow: 256 << 10})
	p, src := worker(t, addr, 1<<20), greet2(t, addr)
	stuck, free := src.tag("orders/stuck"), src.tag("orders/free")
	src.publish(stuck, "stuck")
	p.expectMessages("stuck")
	for range 20 { // many times the window
		src.publish(free, orders(100)...)
		for range 100 {
			m := p.nextStored()
			p.ack(m)
			p.credit(m)
		}
	}
	eventually(t, "one is held", func() bool { return workStats(t, b).Held == 1 })
	if d := workStats(t, b); d.Floor != 0 || d.Read != 2001 {
		t.Errorf("%+v", d)
	}
	src.publish(stuck, orders(2000)...) // behind the stuck message: fills the window
	eventually(t, "the window is full", func() bool { return workStats(t, b).HeldBytes > 200<<10 })
	if d := workStats(t, b); d.HeldBytes > 512<<10 {
		t.Errorf("%d bytes are held", d.HeldBytes)
	}
	p.write(native.AppendAck(nil, native.AckFrame{Sub: 1, Ranges: native.AppendRange(nil, native.Range{First: 1, Count: 1})}))
	for i := range 2000 {
		m := p.nextStored()
		if m.payload != fmt.Sprintf("order %d", i+1) {
			t.Fatalf("got %q as message %d", m.payload, i+1)
		}
		p.ack(m)
		p.credit(m)
	}
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 4001 })
}

// TestTwoBrokers: one broker at a time serves a durable. Another one takes over behind what was acked.
func TestTwoBrokers(t *testing.T) {
	e := newEngine(t)
	one, addrOne := serve(t, broker.Config{Stored: []broker.Stored{openStream(t, e, "orders", "orders/#")}, Holder: "one"})
	two, addrTwo := serve(t, broker.Config{Stored: []broker.Stored{openStream(t, e, "orders", "orders/#")}, Holder: "two"})
	p := worker(t, addrOne, 1<<20)
	eventually(t, "one serves", func() bool { return workStats(t, one).State == "reading" })
	q := worker(t, addrTwo, 1<<20)
	src := greet2(t, addrTwo)
	src.publish(src.tag("orders/1"), orders(2)...)
	p.ack(p.expectMessages(orders(2)...)[0])
	if d := workStats(t, two); d.State != "waiting" || len(d.Members) != 1 {
		t.Errorf("%+v", d)
	}
	eventually(t, "one is done", func() bool { return workStats(t, one).Floor == 1 })
	_ = p.conn.Close()
	q.ack(q.expectMessages("order 2")...)
	eventually(t, "all is done", func() bool { return workStats(t, two).Floor == 2 })
}

// TestLostCursor: a durable whose cursor is lost opens it again.
func TestLostCursor(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p, src := worker(t, addr, 1<<20), greet2(t, addr)
	tag := src.tag("orders/1")
	src.publish(tag, "order 1")
	p.expectMessages("order 1")
	if err := s.Stream.DeleteCursor(t.Context(), "work"); err != nil { // its holder loses it
		t.Fatal(err)
	}
	p.ack(p.expectMessages("order 1")...)
	src.publish(tag, "order 2")
	p.ack(p.expectMessages("order 2")...)
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 2 })
}
