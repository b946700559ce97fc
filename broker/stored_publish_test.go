package broker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/broker/stats"
	"example.com/ferry/engine"
	"example.com/ferry/field"
	"example.com/ferry/protocol/native"
)

// TestStoredCredit: on a stored tag CREDIT, and the response to a PING, wait until the messages before them are stored. A heartbeat
// does not wait.
func TestStoredCredit(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	disk := &storage{Stream: s.Stream, closed: true}
	s.Stream = disk
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := greet2(t, addr)
	p.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: "orders/1"}))
	v, err := native.ParseResult(p.expect(native.Result))
	if err != nil || v.Code != native.CodeOK || !v.Stored {
		t.Fatal(v, err)
	}
	frames := append(p.pub(v.Value, []byte("a")), p.pub(v.Value, []byte("bc"))...)
	p.write(native.AppendPing(slices.Clone(frames), false, 5))
	p.silent()
	if st := streamStats(t, b, "orders"); st.Pending != (stats.Traffic{Messages: 2, Bytes: uint64(len(frames))}) {
		t.Errorf("pending %+v", st.Pending)
	}
	disk.open()
	p.expectCredit(len(frames))
	p.expectPong(5)
	if st := streamStats(t, b, "orders"); st.Pending != (stats.Traffic{}) || st.Stored.Messages != 2 {
		t.Errorf("pending %+v, stored %+v", st.Pending, st.Stored)
	}
}

// TestStoredIsNotUnobserved: a message without a subscriber counts as dropped only if no stream stores it.
func TestStoredIsNotUnobserved(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := greet2(t, addr)
	p.publish(p.tag("orders/1"), "a", "b")
	p.publish(p.tag("events/1"), "c")
	eventually(t, "all messages are routed", func() bool {
		return b.Snapshot().Dropped["unobserved"] > 0 && streamStats(t, b, "orders").Stored.Messages == 2
	})
	if n := b.Snapshot().Dropped["unobserved"]; n != 1 {
		t.Errorf("%d messages count as unobserved, want the one that is not stored", n)
	}
}

// TestStoredRecord: a record has what the publisher says, except the entries that only nodes write.
func TestStoredRecord(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	path, err := field.Parse("id")
	if err != nil {
		t.Fatal(err)
	}
	s.ID = path
	_, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := greet2(t, addr)
	tag := p.tag("orders/1")
	trace := native.AppendTLV(nil, native.TLVTraceContext, "12345678901234567890123456")
	ext := native.AppendTLV(nil, native.TLVSequence, "12345678")
	ext = native.AppendTLV(append(ext, trace...), native.TLVID, "first")
	ext = native.AppendTLV(ext, native.TLVDeadLetter, "x")
	ext = native.AppendTLV(native.AppendTLV(ext, native.TLVOrigin, "another node"), native.TLVHops, "\x01")
	payload := []byte("\xa1bidfsecond") // {"id": "second"}
	h := native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: p.id, Time: 77}
	first := native.AppendExtendedPub(nil, h, ext, payload)
	p.write(native.AppendPing(append(first, native.AppendPub(nil, h, payload)...), false, 1))
	for p.read().Kind() != native.Ping {
	}
	for sequence, want := range map[uint64]engine.Record{
		1: {Tag: "orders/1", Type: ferry.CBOR, Validated: true, Time: 77, ID: "first", Extension: trace, Payload: payload},
		2: {Tag: "orders/1", Type: ferry.CBOR, Validated: true, Time: 77, ID: "second", Payload: payload},
	} {
		got, err := s.Stream.Get(t.Context(), sequence)
		if err != nil {
			t.Fatal(err)
		}
		if got.Tag != want.Tag || got.Type != want.Type || !got.Validated || got.Time != 77 || got.ID != want.ID ||
			string(got.Extension) != string(want.Extension) || string(got.Payload) != string(want.Payload) {
			t.Errorf("record %d: got %+v, want %+v", sequence, got, want)
		}
	}
}

// TestStoredNotices: credit and notices of a stored tag come in the order of its messages.
func TestStoredNotices(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	disk := &storage{Stream: s.Stream, closed: true}
	s.Stream = disk
	_, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := greet2(t, addr)
	tag := p.tag("orders/1")
	good := p.pub(tag, []byte("good"))
	h := native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: p.id}
	bad := native.AppendPub(nil, h, []byte{0xff})
	long := native.AppendExtendedPub(nil, h, native.AppendTLV(nil, native.TLVID, strings.Repeat("x", native.MaxID+1)), []byte{0xa0})
	addressed := native.AppendPub(nil, native.PubHeader{Flags: native.FlagAddressed, Tag: tag, Source: 99}, []byte("to someone"))
	p.write(slices.Concat(good, bad, bad, good, long, addressed, native.AppendPing(nil, false, 3)))
	p.silent()
	disk.open()
	for _, step := range []struct {
		credit int
		notice native.NoticeFrame
	}{
		{credit: len(good)},
		{notice: native.NoticeFrame{Tag: tag, Count: 2, Code: native.CodeInvalid}},
		{credit: 2*len(bad) + len(good)},
		{notice: native.NoticeFrame{Tag: tag, Count: 1, Code: native.CodeBadRequest}},
		{credit: len(long) + len(addressed)},
	} {
		if step.credit > 0 {
			p.expectCredit(step.credit)
			continue
		}
		v, err := native.ParseNotice(p.expect(native.Notice))
		if v.Reason == "" {
			t.Error("a notice without a reason")
		}
		if v.Reason = ""; err != nil || v != step.notice {
			t.Fatalf("got %+v, %v, want %+v", v, err, step.notice)
		}
	}
	p.expectPong(3)
	p.write(bad) // nothing waits: the notice comes at once
	if v, err := native.ParseNotice(p.expect(native.Notice)); err != nil || v.Count != 1 {
		t.Fatal(v, err)
	}
	p.expectCredit(len(bad))
}

// refusing is a Stream that can never store records with a payload.
type refusing struct{ engine.Stream }

func (r refusing) Append(records []engine.Record, done func(error)) {
	var refused []int
	for i, each := range records {
		if len(each.Payload) > 0 {
			refused = append(refused, i)
		}
	}
	go done(&engine.AppendError{Stream: "orders", Refused: refused, Why: "there are too many of them"})
}

// TestStoredRefused: the publisher learns of a message that the engine can never store, and gets its credit back.
func TestStoredRefused(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	s.Stream = refusing{s.Stream}
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := greet2(t, addr)
	f := p.pub(p.tag("orders/1"), []byte("a"))
	p.write(native.AppendPing(slices.Clone(f), false, 9))
	v, err := native.ParseNotice(p.expect(native.Notice))
	if err != nil || v.Count != 1 || v.Code != native.CodeBadRequest || !strings.Contains(v.Reason, "too many") {
		t.Fatal(v, err)
	}
	p.expectCredit(len(f))
	p.expectPong(9)
	if st := streamStats(t, b, "orders"); st.Refused != 1 || st.Stored.Messages != 0 {
		t.Errorf("%+v", st)
	}
}

// TestStoreQueue: while more than Config.StoreQueue waits to be stored, no further publisher gets a grant.
func TestStoreQueue(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	disk := &storage{Stream: s.Stream, closed: true}
	s.Stream = disk
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, StoreQueue: 1000})
	p := greet2(t, addr)
	f := p.pub(p.tag("orders/1"), make([]byte, 2000))
	p.write(slices.Clone(f))
	p.silent()
	late := greet2(t, addr)
	late.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: "orders/2"}))
	late.silent()
	if st := streamStats(t, b, "orders"); st.Withheld != 2 {
		t.Errorf("the credit of %d publishers is withheld, want 2", st.Withheld)
	}
	disk.open()
	p.expectCredit(len(f))
	late.expect(native.Result)
}

// TestStoredTagIsKept: a tag is not freed while messages of it wait to be stored, although its publisher has left.
func TestStoredTagIsKept(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	disk := &storage{Stream: s.Stream, closed: true}
	s.Stream = disk
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, Heartbeat: 200 * time.Millisecond})
	p := greet2(t, addr)
	p.write(p.pub(p.tag("orders/1"), []byte("a")))
	p.silent()
	_ = p.conn.Close()
	eventually(t, "the end of the session", func() bool { return b.Snapshot().Connections == 0 })
	if tags := b.Snapshot().Tags; len(tags) != 1 {
		t.Fatalf("tags %+v", tags)
	}
	disk.open()
	eventually(t, "the tag is freed", func() bool { return len(b.Snapshot().Tags) == 0 })
	if st := streamStats(t, b, "orders"); st.Stored.Messages != 1 {
		t.Errorf("%+v", st)
	}
}

// TestAtMostOnce: a stream that keeps messages only for replay returns credit at once, and drops what exceeds the bound.
func TestAtMostOnce(t *testing.T) {
	s := openStream(t, newEngine(t), "logs", "logs/#")
	s.AtLeastOnce = false
	disk := &storage{Stream: s.Stream, closed: true}
	s.Stream = disk
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, StoreQueue: 1000, Window: 1000})
	p := greet2(t, addr)
	p.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: "logs/1"}))
	v, err := native.ParseResult(p.expect(native.Result))
	if err != nil || v.Stored {
		t.Fatal(v, err)
	}
	for i := range 3 {
		f := p.pub(v.Value, make([]byte, 990))
		p.write(native.AppendPing(slices.Clone(f), false, uint64(i+1)))
		p.expectCredit(len(f))
		p.expectPong(uint64(i + 1))
	}
	disk.open()
	eventually(t, "one is stored", func() bool { return streamStats(t, b, "logs").Stored.Messages == 1 })
	if st := streamStats(t, b, "logs"); st.Dropped != 2 {
		t.Errorf("%d messages were dropped, want 2", st.Dropped)
	}
}

// TestStorageWaits: a publisher whose messages wait learns why.
func TestStorageWaits(t *testing.T) {
	t.Parallel()
	s := openStream(t, newEngine(t), "orders", "orders/#")
	disk := &storage{Stream: s.Stream, closed: true, err: errDiskFull}
	s.Stream = disk
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, Heartbeat: time.Minute, HandshakeTimeout: time.Second})
	p := greet2(t, addr)
	f := p.pub(p.tag("orders/1"), []byte("a"))
	p.write(slices.Clone(f))
	v, err := native.ParseNotice(p.expect(native.Notice))
	if err != nil || v.Count != 0 || v.Code != native.CodeLimit || !strings.Contains(v.Reason, "no space left") {
		t.Fatal(v, err)
	}
	if st := streamStats(t, b, "orders"); !strings.Contains(st.Waiting, "no space left") {
		t.Errorf("%+v", st)
	}
	disk.open()
	p.expectCredit(len(f))
	if st := streamStats(t, b, "orders"); st.Waiting != "" {
		t.Errorf("%+v", st)
	}
}
