package native

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/ferry"
)

// storedSamples are the frames of stored streams, in version 2.
var storedSamples = []sample{
	{
		"SUB 3, window 64 KiB, \"orders/#\", where \"v > 30\", from the first message, durable \"billing\"",
		AppendSub(nil, SubFrame{ID: 3, Window: 65536, Filter: "orders/#", Where: "v > 30", Start: StartFirst, Durable: "billing"}),
		SubFrame{ID: 3, Window: 65536, Filter: "orders/#", Where: "v > 30", Start: StartFirst, Durable: "billing"},
		func(f Frame) (any, error) { return ParseSub(f) },
	},
	{
		"SUB 3, window 64 KiB, \"orders/#\", durable \"billing\", which handles 8 messages at a time",
		AppendSub(nil, SubFrame{ID: 3, Window: 65536, Filter: "orders/#", Durable: "billing", Concurrency: 8}),
		SubFrame{ID: 3, Window: 65536, Filter: "orders/#", Durable: "billing", Concurrency: 8},
		func(f Frame) (any, error) { return ParseSub(f) },
	},
	{
		"SUB 4, window 64 KiB, \"orders/#\", from sequence number 1000, without a durable",
		AppendSub(nil, SubFrame{ID: 4, Window: 65536, Filter: "orders/#", Start: StartSequence, Value: 1000}),
		SubFrame{ID: 4, Window: 65536, Filter: "orders/#", Start: StartSequence, Value: 1000},
		func(f Frame) (any, error) { return ParseSub(f) },
	},
	{
		"RESULT of SUB 3: ok, stored, acknowledge within 30 s",
		AppendResult(nil, ResultFrame{Kind: Sub, Ref: 3, Value: 30000, Stored: true}),
		ResultFrame{Kind: Sub, Ref: 3, Value: 30000, Stored: true},
		func(f Frame) (any, error) { return ParseResult(f) },
	},
	{
		"RESULT of SUB 4: ok, stored, from sequence number 1000",
		AppendResult(nil, ResultFrame{Kind: Sub, Ref: 4, Stored: true, From: 1000}),
		ResultFrame{Kind: Sub, Ref: 4, Stored: true, From: 1000},
		func(f Frame) (any, error) { return ParseResult(f) },
	},
	{
		"RESULT of TAG ref 1: ok, number 5, stored", AppendResult(nil, ResultFrame{Kind: Tag, Ref: 1, Value: 5, Stored: true}),
		ResultFrame{Kind: Tag, Ref: 1, Value: 5, Stored: true},
		func(f Frame) (any, error) { return ParseResult(f) },
	},
	{
		"NOTICE tag 5, no message, limit reached, \"disk full\"", AppendNotice(nil, NoticeFrame{5, 0, CodeLimit, "disk full"}),
		NoticeFrame{5, 0, CodeLimit, "disk full"},
		func(f Frame) (any, error) { return ParseNotice(f) },
	},
	{
		"PUB tag 5, source 7, time 1, raw \"x\", key \"k1\", idempotency key \"o-17\"",
		AppendExtendedPub(nil, PubHeader{0, ferry.Raw, 5, 7, 1}, keyAndID, []byte("x")),
		extendedPub{pub{PubHeader{0, ferry.Raw, 5, 7, 1}, "x"}, "k1", "o-17"},
		func(f Frame) (any, error) {
			p, err := parsePub(f)
			key, _ := Entry(f.Extension(), TLVKey)
			id, _ := Entry(f.Extension(), TLVID)
			return extendedPub{p.(pub), string(key), string(id)}, err
		},
	},
	{
		"PUB tag 5, source 7, time 1, raw \"x\", of the handler of a message that has come through 3 functions",
		AppendExtendedPub(nil, PubHeader{0, ferry.Raw, 5, 7, 1}, AppendTLV(nil, TLVFunctions, []byte{3}), []byte("x")),
		uint8(3),
		func(f Frame) (any, error) { return f.Functions(), nil },
	},
	{
		"PUB by name \"orders/17\", time 1, raw \"x\", sequence number 9, delivered 2 times before, key \"k1\", idempotency key \"o-17\"",
		AppendStoredPub(nil, PubHeader{Time: 1}, Stored{"orders/17", 9, 2}, keyAndID, []byte("x")),
		StoredPub{[]byte("orders/17"), []byte("k1"), []byte("o-17"), 9, 2},
		func(f Frame) (any, error) { return ParseStored(f) },
	},
	{
		"PUB by name \"dead/orders\", time 1, raw \"x\", sequence number 1, a dead letter: message 9 of \"orders\" on \"orders/17\", delivered 5 times, \"no customer\"",
		AppendStoredPub(nil, PubHeader{Time: 1}, Stored{"dead/orders", 1, 0}, AppendDeadLetter(nil, deadLetter), []byte("x")),
		deadLetter,
		func(f Frame) (any, error) {
			value, _ := Entry(f.Extension(), TLVDeadLetter)
			d, _ := ParseDeadLetter(value)
			return d, nil
		},
	},
	{
		"ACK subscription 3, messages 9 to 12", AppendAck(nil, AckFrame{Sub: 3, Ranges: ranges(Range{9, 4})}),
		AckFrame{Sub: 3, Ranges: ranges(Range{9, 4})},
		func(f Frame) (any, error) { return ParseAck(f) },
	},
	{
		"ACK subscription 3, all messages are in progress", AppendAck(nil, AckFrame{3, true, nil}),
		AckFrame{3, true, nil},
		func(f Frame) (any, error) { return ParseAck(f) },
	},
	{
		"NAK subscription 3, message 13, again in 1 s, \"no customer\"", AppendNak(nil, NakFrame{3, 0, 1000, "no customer", ranges(Range{13, 1})}),
		NakFrame{3, 0, 1000, "no customer", ranges(Range{13, 1})},
		func(f Frame) (any, error) { return ParseNak(f) },
	},
	{
		"NAK subscription 3, message 14 never again, \"no order\"", AppendNak(nil, NakFrame{3, FlagReject, 0, "no order", ranges(Range{14, 1})}),
		NakFrame{3, FlagReject, 0, "no order", ranges(Range{14, 1})},
		func(f Frame) (any, error) { return ParseNak(f) },
	},
	{
		"NAK subscription 3, messages 15 to 20 were not tried", AppendNak(nil, NakFrame{3, FlagNotTried, 0, "", ranges(Range{15, 6})}),
		NakFrame{3, FlagNotTried, 0, "", ranges(Range{15, 6})},
		func(f Frame) (any, error) { return ParseNak(f) },
	},
	{"UNSUB 3, what it holds was not tried", AppendUnsubNotTried(nil, 3), uint32(3), func(f Frame) (any, error) { return ParseNumber(f) }},
}

var (
	keyAndID   = AppendMessageTLVs(nil, &ferry.Message{Key: []byte("k1"), ID: "o-17"})
	deadLetter = DeadLetter{"orders", 9, 5, "orders/17", "no customer"}
)

// extendedPub is a PUB of a client with the entries of its message.
type extendedPub struct {
	pub
	key, id string
}

func ranges(all ...Range) (b []byte) {
	for _, r := range all {
		b = AppendRange(b, r)
	}
	return b
}

// storedSession is a connection of version 2 to a node that stores orders/# at least once.
var storedSession = []struct {
	title string
	frame []byte
}{
	{"client: HELLO versions 2 to 2, token \"t0k\", name \"shop\"", AppendHello(nil, HelloFrame{MinVersion: 2, MaxVersion: 2, Token: []byte("t0k"), Name: "shop"})},
	{
		"node: WELCOME version 2, no data streams, source 1, frames to 1 MiB, window 1 MiB, heartbeat 10 s",
		AppendWelcome(nil, WelcomeFrame{Version: 2, Source: 1, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10000}),
	},
	{"client: TAG ref 1, \"orders/17\"", AppendTag(nil, TagFrame{1, "orders/17"})},
	{"node: RESULT of TAG ref 1: ok, number 0, stored", AppendResult(nil, ResultFrame{Kind: Tag, Ref: 1, Stored: true})},
	{
		"client: PUB tag 0, source 1, time 1602168089665565200, json {\"v\":1}, idempotency key \"o-17\"",
		AppendExtendedPub(nil, PubHeader{0, ferry.JSON, 0, 1, 1602168089665565200}, AppendTLV(nil, TLVID, "o-17"), []byte(`{"v":1}`)),
	},
	{"node: CREDIT tag 0, 39 bytes: the message is stored", AppendCredit(nil, CreditFrame{0, 0, 39})},
	{
		"client: PUB tag 0, source 1, time 1602168089665565201, json {\"v\":2}",
		AppendPub(nil, PubHeader{0, ferry.JSON, 0, 1, 1602168089665565201}, []byte(`{"v":2}`)),
	},
	{"node: CREDIT tag 0, 31 bytes", AppendCredit(nil, CreditFrame{0, 0, 31})},
	{"client: PING 1", AppendPing(nil, false, 1)},
	{"node: PING 1, the response", AppendPing(nil, true, 1)},
	{
		"client: SUB 3, window 64 KiB, \"orders/#\", from the first message, durable \"billing\"",
		AppendSub(nil, SubFrame{ID: 3, Window: 65536, Filter: "orders/#", Start: StartFirst, Durable: "billing"}),
	},
	{"node: RESULT of SUB 3: ok, stored, acknowledge within 30 s", AppendResult(nil, ResultFrame{Kind: Sub, Ref: 3, Value: 30000, Stored: true})},
	{"node: SELECT 3", AppendSelect(nil, 3)},
	{
		"node: PUB by name \"orders/17\", validated, time 1602168089665565200, json {\"v\":1}, sequence number 1, idempotency key \"o-17\"",
		AppendStoredPub(nil, PubHeader{Flags: FlagValid, Type: ferry.JSON, Time: 1602168089665565200}, Stored{"orders/17", 1, 0}, AppendTLV(nil, TLVID, "o-17"), []byte(`{"v":1}`)),
	},
	{
		"node: PUB by name \"orders/17\", validated, time 1602168089665565201, json {\"v\":2}, sequence number 2",
		AppendStoredPub(nil, PubHeader{Flags: FlagValid, Type: ferry.JSON, Time: 1602168089665565201}, Stored{"orders/17", 2, 0}, nil, []byte(`{"v":2}`)),
	},
	{"client: NAK subscription 3, message 1, again in 1 ms, \"no customer\"", AppendNak(nil, NakFrame{3, 0, 1, "no customer", ranges(Range{1, 1})})},
	{"client: NAK subscription 3, message 2 was not tried: it has the same key, its tag", AppendNak(nil, NakFrame{3, FlagNotTried, 0, "", ranges(Range{2, 1})})},
	{
		"node: PUB by name \"orders/17\", as above, sequence number 1, delivered once before",
		AppendStoredPub(nil, PubHeader{Flags: FlagValid, Type: ferry.JSON, Time: 1602168089665565200}, Stored{"orders/17", 1, 1}, AppendTLV(nil, TLVID, "o-17"), []byte(`{"v":1}`)),
	},
	{
		"node: PUB by name \"orders/17\", as above, sequence number 2, which was not tried before",
		AppendStoredPub(nil, PubHeader{Flags: FlagValid, Type: ferry.JSON, Time: 1602168089665565201}, Stored{"orders/17", 2, 0}, nil, []byte(`{"v":2}`)),
	},
	{"client: ACK subscription 3, messages 1 and 2", AppendAck(nil, AckFrame{Sub: 3, Ranges: ranges(Range{1, 2})})},
	{"client: CREDIT subscription 3, by name, 244 bytes", AppendCredit(nil, CreditFrame{3, ByName, 244})},
	{"client: UNSUB 3, what it holds was not tried", AppendUnsubNotTried(nil, 3)},
	{"client: GOAWAY ok; the node closes the connection", AppendGoaway(nil, GoawayFrame{})},
}

func TestStoredSessionVectors(t *testing.T) {
	var b strings.Builder
	received, returned := 0, 0
	for _, s := range storedSession {
		fmt.Fprintf(&b, "# %s\n%x\n", s.title, s.frame)
		switch f := Frame(s.frame); {
		case f.Kind() == Pub && f.Tag() == ByName:
			received += len(f)
		case f.Kind() == Credit:
			if c, err := ParseCredit(f); err == nil && c.Sub != 0 {
				returned += int(c.Bytes)
			}
		}
	}
	if received != returned {
		t.Errorf("the client returns credit for %d of %d bytes", returned, received)
	}
	golden(t, "testdata/stored.txt", b.String())
}

// TestLongStoredPub has a tag and entries that do not fit into an extension whose length is in the header.
func TestLongStoredPub(t *testing.T) {
	s := Stored{strings.Repeat("t", 1024), math.MaxUint64, math.MaxUint32}
	entries := AppendTLV(AppendTLV(nil, TLVTraceState, strings.Repeat("s", 500)), TLVKey, strings.Repeat("k", MaxKey))
	raw := AppendStoredPub(nil, PubHeader{Type: ferry.JSON}, s, entries, []byte("payload"))
	for n := range raw {
		if f, err := Split(raw[:n], DefaultMaxFrame); f != nil || err != nil {
			t.Fatalf("cut at %d: got %d bytes, %v", n, len(f), err)
		}
	}
	f, err := Split(raw, DefaultMaxFrame)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseStored(f)
	if err != nil || string(p.Tag) != s.Tag || p.Sequence != s.Sequence || p.Deliveries != s.Deliveries || len(p.Key) != MaxKey || string(f.Payload()) != "payload" {
		t.Errorf("got %d bytes of tag, %d of key, numbers %d and %d, payload %q, %v", len(p.Tag), len(p.Key), p.Sequence, p.Deliveries, f.Payload(), err)
	}
	if over := len(raw) - len(AppendExtendedPub(nil, PubHeader{}, entries, []byte("payload"))); over > StoredOverhead {
		t.Errorf("the node has added %d bytes, the bound is %d", over, StoredOverhead)
	}
}

// TestStoredPubKeepsTheNodesEntries: entries of a publisher do not replace those of the node.
func TestStoredPubKeepsTheNodesEntries(t *testing.T) {
	forged := AppendTLV(AppendTLV(AppendTLV([]byte{0}, TLVTagName, "secret"), TLVSequence, "\x00\x00\x00\x00\x00\x00\x00\x09"), TLVDeliveries, "\x00\x00\x00\x09")
	f, err := Split(AppendStoredPub(nil, PubHeader{}, Stored{Tag: "a", Sequence: 1}, append(forged, keyAndID...), nil), DefaultMaxFrame)
	if err != nil {
		t.Fatal(err)
	}
	want := StoredPub{Tag: []byte("a"), Key: []byte("k1"), ID: []byte("o-17"), Sequence: 1}
	if got, err := ParseStored(f); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestMalformedStored(t *testing.T) {
	byName := PubHeader{Tag: ByName}
	tooLong := AppendStoredPub(nil, PubHeader{}, Stored{Tag: "a", Sequence: 1}, AppendTLV(nil, 200, make([]byte, MaxTLV)), nil)
	parse := func(raw []byte) error {
		f, err := Split(raw, 1<<20)
		if err != nil {
			return err
		}
		switch f.Kind() {
		case Pub:
			_, err = ParseStored(f)
		case Ack:
			_, err = ParseAck(f)
		case Nak:
			_, err = ParseNak(f)
		case Sub:
			_, err = ParseSub(f)
		}
		return err
	}
	for _, c := range []struct {
		name  string
		frame []byte
	}{
		{"stored PUB without a tag", AppendExtendedPub(nil, byName, AppendTLV(nil, TLVSequence, "\x00\x00\x00\x00\x00\x00\x00\x09"), nil)},
		{"stored PUB without a sequence number", AppendExtendedPub(nil, byName, AppendTLV(nil, TLVTagName, "a"), nil)},
		{"stored PUB with a short sequence number", AppendExtendedPub(nil, byName, AppendTLV(AppendTLV(nil, TLVTagName, "a"), TLVSequence, "9"), nil)},
		{"stored PUB with a cut entry", AppendExtendedPub(nil, byName, []byte{byte(TLVTagName), 0, 9, 'a'}, nil)},
		{"stored PUB with an extension above the bound", tooLong},
		{"ACK without a range", AppendAck(nil, AckFrame{Sub: 1})},
		{"ACK of no message", AppendAck(nil, AckFrame{Sub: 1, Ranges: ranges(Range{1, 0})})},
		{"ACK of message 0", AppendAck(nil, AckFrame{Sub: 1, Ranges: ranges(Range{0, 1})})},
		{"ACK beyond the last number", AppendAck(nil, AckFrame{Sub: 1, Ranges: ranges(Range{math.MaxUint64, 2})})},
		{"NAK with half a range", AppendNak(nil, NakFrame{Sub: 1, Ranges: ranges(Range{1, 1})[:11]})},
		{"SUB with an unknown start", AppendSub(nil, SubFrame{ID: 1, Filter: "a", Start: StartTime + 1})},
	} {
		var e *Error
		if err := parse(c.frame); !errors.As(err, &e) || e.Code != CodeProtocol {
			t.Errorf("%s: got %v, want a protocol error", c.name, err)
		}
	}
	value, _ := Entry(AppendDeadLetter(nil, DeadLetter{Stream: "orders", Tag: "orders/17"}), TLVDeadLetter)
	for n := range value {
		if d, ok := ParseDeadLetter(value[:n]); ok {
			t.Errorf("the dead letter %x was parsed as %+v", value[:n], d)
		}
	}
}

func TestRemoveEntries(t *testing.T) {
	rest := RemoveEntries(nil, append(AppendDeadLetter([]byte{0}, deadLetter), keyAndID...), TLVDeadLetter)
	if !bytes.Equal(rest, keyAndID) {
		t.Errorf("got %x, want %x", rest, keyAndID)
	}
}

func TestLongDeadLetterReasonIsCut(t *testing.T) {
	value, _ := Entry(AppendDeadLetter(nil, DeadLetter{Stream: "s", Reason: strings.Repeat("ä", 300)}), TLVDeadLetter)
	if d, ok := ParseDeadLetter(value); !ok || d.Reason != strings.Repeat("ä", 256) {
		t.Errorf("got %d bytes, %v", len(d.Reason), ok)
	}
}

func TestRangesAreMerged(t *testing.T) {
	got := slices.Collect(RangesOf(ranges(Range{1, 1}, Range{2, 3}, Range{5, 1}, Range{7, 1}, Range{6, 1}, Range{7, math.MaxUint32}, Range{7 + math.MaxUint32, 1})))
	want := []Range{{1, 5}, {7, 1}, {6, 1}, {7, math.MaxUint32}, {7 + math.MaxUint32, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestStoredAllocatesNothing(t *testing.T) {
	buf, acks, payload := make([]byte, 0, 4096), make([]byte, 0, 4096), make([]byte, 100)
	n := testing.AllocsPerRun(100, func() {
		buf = AppendStoredPub(buf[:0], PubHeader{Time: 3}, Stored{"orders/17", 9, 0}, keyAndID, payload)
		f, err := Split(buf, DefaultMaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseStored(f)
		if err != nil || len(f.Payload()) != 100 {
			t.Fatal(err)
		}
		acks = AppendRange(acks[:0], Range{s.Sequence, 1})
		buf = AppendAck(buf[:0], AckFrame{Sub: 1, Ranges: acks})
		if a, err := ParseAck(buf); err != nil || len(a.Ranges) != RangeSize {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// fuzzPub checks that a PUB by name keeps its meaning when it is written again.
func fuzzPub(t *testing.T, f Frame) {
	if len(f.Extension())+len(f.Payload()) > len(f) {
		t.Errorf("%x has %d bytes of extension and %d of payload", f, len(f.Extension()), len(f.Payload()))
	}
	s, err := ParseStored(f)
	if err != nil {
		return
	}
	again, err := Split(AppendStoredPub(nil, PubHeader{}, Stored{string(s.Tag), s.Sequence, s.Deliveries}, f.Extension(), f.Payload()), 2<<16)
	if err != nil {
		t.Fatalf("%x written again: %v", f, err)
	}
	if got, err := ParseStored(again); err != nil || fmt.Sprint(got) != fmt.Sprint(s) || !bytes.Equal(again.Payload(), f.Payload()) {
		t.Errorf("%+v became %+v, %v", s, got, err)
	}
}

// fuzzStored checks that a SUB, ACK or NAK keeps its meaning when it is written again, and that ranges are sane.
func fuzzStored(t *testing.T, f Frame) {
	sane := func(b []byte) {
		for r := range RangesOf(b) {
			if r.First == 0 || r.Count == 0 || r.First+uint64(r.Count) < r.First {
				t.Errorf("%x has the range %v", f, r)
			}
		}
	}
	switch f.Kind() {
	case Sub:
		if s, err := ParseSub(f); err == nil {
			if again, err := ParseSub(AppendSub(nil, s)); err != nil || s.Stored() && again != s {
				t.Errorf("%+v became %+v, %v", s, again, err)
			}
		}
	case Ack:
		if a, err := ParseAck(f); err == nil {
			sane(a.Ranges)
			if again, err := ParseAck(AppendAck(nil, a)); err != nil || fmt.Sprint(again) != fmt.Sprint(a) {
				t.Errorf("%+v became %+v, %v", a, again, err)
			}
		}
	case Nak:
		if v, err := ParseNak(f); err == nil {
			sane(v.Ranges)
			if again, err := ParseNak(AppendNak(nil, v)); err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
				t.Errorf("%+v became %+v, %v", v, again, err)
			}
		}
	}
}
