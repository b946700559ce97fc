package broker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/broker/stored"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/protocol/native"
)

// openStream opens a stream of a memory engine that ends with the test.
func openStream(t *testing.T, e *memory.Engine, name string, tags ...string) broker.Stored {
	t.Helper()
	c := engine.Config{Name: name, Tags: tags, InMemory: true}
	s, err := e.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return broker.Stored{Stream: s, Config: c, AtLeastOnce: true}
}

func newEngine(t *testing.T) *memory.Engine {
	e := memory.New()
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// storage is a Stream whose appends wait while it is closed, as those of an engine whose disk is full.
type storage struct {
	engine.Stream
	mu      sync.Mutex
	closed  bool
	waiting []func()
	err     error // of Info while closed
}

func (s *storage) Append(records []engine.Record, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.Stream.Append(records, done)
		return
	}
	kept := make([]engine.Record, len(records))
	for i, r := range records {
		r.Payload, r.Extension = append([]byte(nil), r.Payload...), append([]byte(nil), r.Extension...)
		kept[i] = r
	}
	s.waiting = append(s.waiting, func() { s.Stream.Append(kept, done) })
}

func (s *storage) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = false
	for _, f := range s.waiting {
		f()
	}
	s.waiting = nil
}

func (s *storage) Info(ctx context.Context) (engine.Info, error) {
	info, err := s.Stream.Info(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		info.Err = s.err
	}
	return info, err
}

var errDiskFull = errors.New("no space left on device")

// greet2 is greet in version 2.
func greet2(t *testing.T, addr string) *peer {
	t.Helper()
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 2, MaxVersion: 2, Name: "test"}))
	w, err := native.ParseWelcome(p.read())
	if err != nil {
		t.Fatal(err)
	}
	p.id = ferry.SourceID(w.Source)
	return p
}

// expect returns the next frame, which must be of that kind.
func (p *peer) expect(k native.Kind) native.Frame {
	p.t.Helper()
	f := p.read()
	if f == nil || f.Kind() != k {
		p.t.Fatalf("got frame %x, want a %v", []byte(f), k)
	}
	return f
}

// silent checks that the broker sends nothing but the response to a heartbeat.
func (p *peer) silent() {
	p.t.Helper()
	p.write(native.AppendPing(nil, false, 0))
	p.expect(native.Ping)
}

func (p *peer) expectCredit(bytes int) {
	p.t.Helper()
	for bytes > 0 {
		v, err := native.ParseCredit(p.expect(native.Credit))
		if err != nil || v.Sub != 0 || int(v.Bytes) > bytes {
			p.t.Fatalf("got %+v, %v, want %d bytes", v, err, bytes)
		}
		bytes -= int(v.Bytes)
	}
}

func (p *peer) expectPong(value uint64) {
	p.t.Helper()
	if v, err := native.ParsePing(p.expect(native.Ping)); err != nil || v != value {
		p.t.Fatalf("got PING %d, %v, want %d", v, err, value)
	}
}

// publish publishes payloads and waits until they are stored.
func (p *peer) publish(tag uint32, payloads ...string) {
	p.t.Helper()
	var b []byte
	for _, each := range payloads {
		b = append(b, p.pub(tag, []byte(each))...)
	}
	p.write(native.AppendPing(b, false, 7))
	for {
		f := p.read()
		if f == nil || f.Kind() == native.Notice {
			p.t.Fatalf("got %x", []byte(f))
		}
		if f.Kind() == native.Ping {
			return
		}
	}
}

// publishKeyed publishes a payload with a key and waits until it is stored.
func (p *peer) publishKeyed(tag uint32, key, payload string) {
	p.t.Helper()
	h := native.PubHeader{Tag: tag, Source: p.id, Time: time.Now().UnixNano()}
	p.write(native.AppendPing(native.AppendExtendedPub(nil, h, native.AppendTLV(nil, native.TLVKey, key), []byte(payload)), false, 7))
	for p.read().Kind() != native.Ping {
	}
}

// subscribeStored subscribes to a stream.
func (p *peer) subscribeStored(v native.SubFrame) native.ResultFrame {
	p.t.Helper()
	if v.Window == 0 {
		v.Window = 1 << 20
	}
	if v.ID == 0 {
		v.ID = 1
	}
	p.write(native.AppendSub(nil, v))
	result, err := native.ParseResult(p.expect(native.Result))
	if err != nil || result.Ref != v.ID || !result.Stored {
		p.t.Fatalf("got %+v, %v", result, err)
	}
	return result
}

// storedMessage is a message of a stored subscription.
type storedMessage struct {
	native.StoredPub
	payload string
	size    int // of the frame
}

// nextStored returns the next message of a stored subscription.
func (p *peer) nextStored() storedMessage {
	p.t.Helper()
	for {
		f := p.read()
		if f == nil {
			p.t.Fatal("the connection was ended")
		}
		if f.Kind() != native.Pub {
			continue
		}
		v, err := native.ParseStored(f)
		if err != nil || f.Tag() != native.ByName {
			p.t.Fatalf("got %x, %v", []byte(f), err)
		}
		return storedMessage{v, string(f.Payload()), len(f)}
	}
}

// expectMessages expects messages with these payloads, in order, and returns them.
func (p *peer) expectMessages(payloads ...string) (all []storedMessage) {
	p.t.Helper()
	for i, want := range payloads {
		m := p.nextStored()
		if m.payload != want {
			p.t.Fatalf("message %d is %q (sequence %d, deliveries %d), want %q", i, m.payload, m.Sequence, m.Deliveries, want)
		}
		all = append(all, m)
	}
	return all
}

func (p *peer) ack(messages ...storedMessage) {
	p.t.Helper()
	var ranges []byte
	for _, m := range messages {
		ranges = native.AppendRange(ranges, native.Range{First: m.Sequence, Count: 1})
	}
	p.write(native.AppendAck(nil, native.AckFrame{Sub: 1, Ranges: ranges}))
}

func (p *peer) nak(flags byte, m storedMessage) {
	p.t.Helper()
	p.write(native.AppendNak(nil, native.NakFrame{Sub: 1, Flags: flags, Reason: "it is broken", Ranges: native.AppendRange(nil, native.Range{First: m.Sequence, Count: 1})}))
}

// credit returns the credit of messages.
func (p *peer) credit(messages ...storedMessage) {
	p.t.Helper()
	n := 0
	for _, m := range messages {
		n += m.size
	}
	p.write(native.AppendCredit(nil, native.CreditFrame{Sub: 1, Tag: native.ByName, Bytes: uint32(n)}))
}

func streamStats(t *testing.T, b *broker.Broker, name string) stored.StreamStats {
	t.Helper()
	for _, s := range b.Snapshot().Streams {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no stream %q", name)
	return stored.StreamStats{}
}

// workStats returns the state of the durable "work" of stream "orders".
func workStats(t *testing.T, b *broker.Broker) stored.DurableStats {
	t.Helper()
	for _, d := range streamStats(t, b, "orders").Durables {
		if d.Name == "work" {
			return d
		}
	}
	return stored.DurableStats{}
}
