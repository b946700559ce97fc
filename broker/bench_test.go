package broker

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// event returns an EdgeX event of about size bytes in CBOR, with the value at readings.0.value.
func event(size int, device, value string) []byte {
	text := func(b []byte, s string) []byte { return append(append(b, 0x60|byte(len(s))), s...) }
	var e []byte
	small := size < 300
	if small {
		e = append(e, 0xa3)
	} else {
		e = text(text(append(e, 0xa7), "apiVersion"), "v3")
		e = append(text(e, "id"), 0x78, 36)
		e = append(e, "d5471d59-2810-419a-8744-18eb8fad3465"...)
	}
	e = text(text(e, "deviceName"), device)
	if !small {
		e = text(text(e, "profileName"), "Prof")
		e = text(text(e, "sourceName"), "Src")
	}
	e = append(text(e, "origin"), 0x1b, 0x16, 0x3c, 0x0b, 0x63, 0x8e, 0xfb, 0x72, 0x10)
	e = append(text(e, "readings"), 0x81, 0xa3)
	e = text(text(e, "resourceName"), "temp")
	e = text(text(e, "value"), value)
	e = text(e, "binaryValue")
	pad := max(size-len(e)-5, 0)
	e = append(e, 0x5a, byte(pad>>24), byte(pad>>16), byte(pad>>8), byte(pad))
	return append(e, bytes.Repeat([]byte{7}, pad)...)
}

// rig is a publisher and three subscribers without a network: frames that the broker writes are discarded.
type rig struct {
	receiver *receiver
	streams  []*outlet.Stream
	subs     []*subscription
	batch    []byte
	shared   *bufpool.Buf
	frames   int
}

func newRig(b testing.TB, size int, where string, v Validation, stored ...Stored) *rig {
	broker, err := New(Config{Identify: Anyone, Formats: []format.Format{cbor.Format{}}, Log: slog.New(slog.DiscardHandler), Stored: stored})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { broker.stopOnce.Do(func() { close(broker.stop) }) })
	open := func() *session {
		s := newSession(broker.NewListener(nil, v), broker.cfg.Load(), "bench", "", &Identity{Publish: []string{"#"}, Subscribe: []string{"#"}})
		near, far := net.Pipe()
		b.Cleanup(func() { _, _ = near.Close(), far.Close() })
		if err := broker.addSession(s, peer.New(near, peer.Config{}), native.CallLimits{}, near.RemoteAddr()); err != nil {
			b.Fatal(err)
		}
		return s
	}
	r := &rig{}
	for range 3 {
		s := open()
		if err := s.subscribe(native.SubFrame{ID: 1, Window: 1 << 30, Filter: "events/#", Where: where}, nil); err != nil {
			b.Fatal(err)
		}
		r.streams = append(r.streams, s.control)
		r.subs = append(r.subs, s.subs[1])
	}
	pub := open()
	p, err := pub.publisherOf("events/pump")
	if err != nil {
		b.Fatal(err)
	}
	id := p.tag.ID
	if err := p.grant(native.ResultFrame{Kind: native.Tag, Value: id}); err != nil {
		b.Fatal(err)
	}
	r.receiver = newReceiver(pub)
	payload := event(size, "pump-1", "31.5")
	for r.frames == 0 || len(r.batch)+len(payload) < 32<<10 {
		r.batch = native.AppendPub(r.batch, native.PubHeader{Type: ferry.CBOR, Tag: id, Source: pub.id, Time: time.Now().UnixNano()}, payload)
		r.frames++
	}
	if r.frames == 1 { // a large frame is read into a shared buffer
		r.shared = bufpool.Get(len(r.batch))
		r.shared.B = append(r.shared.B, r.batch...)
		r.batch = r.shared.B
	}
	return r
}

// routeBatch routes the batch once, and then empties the streams and gives the clients' credit back.
func (r *rig) routeBatch() error {
	if err := peer.Dispatch(r.receiver.session.peer, &frameHandlers, r.receiver, r.batch, r.shared, true); err != nil {
		return err
	}
	for i, s := range r.streams {
		s.Lock()
		s.Wire.Discard()
		s.Release(nil)
		for _, q := range r.subs[i].queues {
			q.AddCredit(outlet.MaxCredit)
		}
	}
	r.receiver.session.control.Lock()
	r.receiver.session.control.Wire.Discard()
	r.receiver.session.control.Release(nil)
	return nil
}

// BenchmarkHop measures the broker's work for one message with three subscriptions: header, validation, predicate,
// counters, credit and enqueueing. The receiver does this work for each batch.
func BenchmarkHop(b *testing.B) {
	const where = `deviceName == "pump-1" && readings.0.value > 30`
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		for _, c := range []struct {
			name, where string
			v           Validation
		}{
			{"plain/off", "", ValidateOff},
			{"plain/bounds", "", ValidateBounds},
			{"plain/full", "", ValidateFull},
			{"where/off", where, ValidateOff},
			{"where/bounds", where, ValidateBounds},
			{"where/full", where, ValidateFull},
		} {
			b.Run(fmt.Sprintf("%d/%s", size, c.name), func(b *testing.B) {
				r := newRig(b, size, c.where, c.v)
				if err := r.routeBatch(); err != nil {
					b.Fatal(err)
				}
				for _, s := range r.subs {
					for _, q := range s.queues {
						if n := q.Stats().Sent.Messages; n != uint64(r.frames) {
							b.Fatalf("%d messages of %d reached a subscriber", n, r.frames)
						}
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				for n := 0; n < b.N; n += r.frames {
					if err := r.routeBatch(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("%d/memcpy", size), func(b *testing.B) {
			src, dst := event(size, "pump-1", "31.5"), make([]byte, 1<<20)
			at := 0
			for b.Loop() {
				if at += copy(dst[at:], src); at > len(dst)-len(src) {
					at = 0
				}
			}
		})
	}
}
