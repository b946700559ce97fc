package broker_test

import (
	"slices"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// frames reads frames until the connection ends, and calls handle for each.
func (p *peer) frames(handle func(native.Frame)) {
	var buf []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := p.conn.Read(chunk)
		if err != nil {
			return
		}
		buf = append(buf, chunk[:n]...)
		for {
			f, err := native.Split(buf, native.DefaultMaxFrame)
			if err != nil || f == nil {
				break
			}
			handle(f)
			buf = buf[len(f):]
		}
	}
}

// TestCreditIsForStoredMessages: the engine stores nothing, so the broker returns no credit, although a subscriber whose queue is full and
// half empty in turn makes it withhold and return that of live messages all the time.
func TestCreditIsForStoredMessages(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.Stream = &storage{Stream: s.Stream, closed: true}
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, Window: 1 << 30, StoreQueue: 1 << 30})
	pub, sub := greet2(t, addr), greet2(t, addr)
	sub.subscribe(native.SubFrame{ID: 1, Filter: "orders/#", Window: 4 << 10, Queue: 2 << 10, Policy: native.Block})
	tags := []uint32{pub.tag("orders/1"), pub.tag("orders/2")}
	go sub.frames(func(f native.Frame) { // returns the credit of each message
		if f.Kind() == native.Pub {
			_, _ = sub.conn.Write(native.AppendCredit(nil, native.CreditFrame{Sub: 1, Tag: f.Tag(), Bytes: uint32(len(f))}))
		}
	})
	credit := make(chan uint32, 1)
	go pub.frames(func(f native.Frame) {
		if v, err := native.ParseCredit(f); f.Kind() == native.Credit && err == nil {
			select {
			case credit <- v.Bytes:
			default:
			}
		}
	})
	var burst []byte
	for i := range 200 { // two tags in turn, so that each run has one message
		burst = append(burst, pub.pub(tags[i%2], []byte("x"))...)
	}
	for range 400 {
		pub.write(slices.Clone(burst))
		select {
		case n := <-credit:
			st := streamStats(t, b, "orders")
			t.Fatalf("CREDIT for %d bytes, but %d messages are stored and %d wait", n, st.Stored.Messages, st.Pending.Messages)
		default:
		}
	}
}

// TestStoreQueueCountsMemory: what waits to be stored counts by the memory that it holds. That of small messages is many times the bytes
// of their frames.
func TestStoreQueueCountsMemory(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.Stream = &storage{Stream: s.Stream, closed: true}
	const bound = 64 << 10
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, StoreQueue: bound})
	p := greet2(t, addr)
	tag := p.tag("orders/1")
	var burst []byte
	for len(burst) < bound/4 {
		burst = append(burst, p.pub(tag, []byte("x"))...)
	}
	p.write(burst)
	p.silent()
	st := streamStats(t, b, "orders")
	if st.Withheld != 1 || int(st.Pending.Bytes) != len(burst) {
		t.Errorf("%d messages with %d bytes wait, and the credit of %d publishers is withheld, want 1", st.Pending.Messages, st.Pending.Bytes, st.Withheld)
	}
}

// TestNoticesAfterUntag: NOTICEs are sent at a bounded rate. Those that come after the client has given the grant back do not name the
// number of the tag, which may be that of another one then.
func TestNoticesAfterUntag(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	_, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: native.ForwardVersion, MaxVersion: native.ForwardVersion, Name: "test"}))
	w, err := native.ParseWelcome(p.expect(native.Welcome))
	if err != nil {
		t.Fatal(err)
	}
	p.id = ferry.SourceID(w.Source)
	tag := p.tag("orders/1")
	bad := native.AppendPub(nil, native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: p.id, Time: time.Now().UnixNano()}, []byte{0xff})
	good := p.pub(tag, []byte("good"))
	const n = 400
	var burst []byte
	for range n { // a good one between two bad ones, whose NOTICEs are not joined
		burst = append(append(burst, bad...), good...)
	}
	p.write(native.AppendPing(native.AppendUntag(burst, tag), false, 0))
	dropped, left := 0, false
	for late := 0; dropped < n; {
		switch f := p.read(); f.Kind() {
		case native.Ping:
			left = true
		case native.Credit:
			if left {
				t.Fatal("CREDIT after UNTAG")
			}
		case native.Notice:
			v, err := native.ParseNotice(f)
			if err != nil {
				t.Fatal(err)
			}
			dropped += int(v.Count)
			if left {
				late++
				if v.Tag != native.ByName {
					t.Fatalf("NOTICE %d after UNTAG names the number %d of the tag", late, v.Tag)
				}
			}
		}
	}
}
