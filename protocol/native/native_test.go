package native

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/ferry"
)

var update = flag.Bool("update", false, "rewrite testdata/vectors.txt")

// sample is a vector: a frame with its encoding and the result of parsing it.
type sample struct {
	name   string
	frame  []byte
	parsed any
	parse  func(Frame) (any, error)
}

// samples are the vectors, at least one of each kind.
var samples = slices.Concat(streamSamples, callSamples, storedSamples, forwardSamples)

// streamSamples are the frames of version 1.
var streamSamples = []sample{
	{
		"HELLO versions 1 to 1, token \"t0k\", name \"pump\"",
		AppendHello(nil, HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte("t0k"), Name: "pump"}),
		HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte("t0k"), Name: "pump"},
		func(f Frame) (any, error) { return ParseHello(f) },
	},
	{
		"WELCOME version 1, 8 data streams, source 7, frames to 1 MiB, window 1 MiB, heartbeat 10 s",
		AppendWelcome(nil, WelcomeFrame{Version: 1, Streams: 8, Source: 7, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10000}),
		WelcomeFrame{Version: 1, Streams: 8, Source: 7, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10000},
		func(f Frame) (any, error) { return ParseWelcome(f) },
	},
	{"PING 42", AppendPing(nil, false, 42), uint64(42), func(f Frame) (any, error) { return ParsePing(f) }},
	{"PING 42, the response", AppendPing(nil, true, 42), uint64(42), func(f Frame) (any, error) { return ParsePing(f) }},
	{
		"GOAWAY draining, \"bye\"", AppendGoaway(nil, GoawayFrame{CodeDraining, "bye"}),
		GoawayFrame{CodeDraining, "bye"},
		func(f Frame) (any, error) { return ParseGoaway(f) },
	},
	{
		"TAG ref 1, \"sensors/a\"", AppendTag(nil, TagFrame{1, "sensors/a"}),
		TagFrame{1, "sensors/a"},
		func(f Frame) (any, error) { return ParseTag(f) },
	},
	{
		"SUB 3, drop oldest, window 64 KiB, queue 4 KiB, \"sensors/#\", group \"g\", where \"v > 30\"",
		AppendSub(nil, SubFrame{ID: 3, Policy: DropOldest, Window: 65536, Queue: 4096, Filter: "sensors/#", Group: "g", Where: "v > 30"}),
		SubFrame{ID: 3, Policy: DropOldest, Window: 65536, Queue: 4096, Filter: "sensors/#", Group: "g", Where: "v > 30"},
		func(f Frame) (any, error) { return ParseSub(f) },
	},
	{
		"SUB 4, addressed, window 1 KiB, \"answers\"", AppendSub(nil, SubFrame{ID: 4, Addressed: true, Window: 1024, Filter: "answers"}),
		SubFrame{ID: 4, Addressed: true, Window: 1024, Filter: "answers"},
		func(f Frame) (any, error) { return ParseSub(f) },
	},
	{"UNSUB 3", AppendUnsub(nil, 3), uint32(3), func(f Frame) (any, error) { return ParseNumber(f) }},
	{
		"CREDIT subscription 3, tag 5, 32768 bytes", AppendCredit(nil, CreditFrame{3, 5, 32768}),
		CreditFrame{3, 5, 32768},
		func(f Frame) (any, error) { return ParseCredit(f) },
	},
	{
		"PUB tag 5, source 7, time 1602168089665565200, json {\"v\":31}",
		AppendPub(nil, PubHeader{0, ferry.JSON, 5, 7, 1602168089665565200}, []byte(`{"v":31}`)),
		pub{PubHeader{0, ferry.JSON, 5, 7, 1602168089665565200}, `{"v":31}`},
		parsePub,
	},
	{
		"PUB tag 5, to source 7, validated, time 1, no payload",
		AppendPub(nil, PubHeader{FlagAddressed | FlagValid, ferry.Raw, 5, 7, 1}, nil),
		pub{PubHeader{FlagAddressed | FlagValid, ferry.Raw, 5, 7, 1}, ""},
		parsePub,
	},
	{"SELECT 3", AppendSelect(nil, 3), uint32(3), func(f Frame) (any, error) { return ParseNumber(f) }},
	{
		"RESULT of TAG ref 1: ok, number 5", AppendResult(nil, ResultFrame{Kind: Tag, Ref: 1, Value: 5}),
		ResultFrame{Kind: Tag, Ref: 1, Value: 5},
		func(f Frame) (any, error) { return ParseResult(f) },
	},
	{
		"RESULT of SUB 3: forbidden, \"no\"", AppendResult(nil, ResultFrame{Kind: Sub, Ref: 3, Code: CodeForbidden, Reason: "no"}),
		ResultFrame{Kind: Sub, Ref: 3, Code: CodeForbidden, Reason: "no"},
		func(f Frame) (any, error) { return ParseResult(f) },
	},
	{
		"NOTICE tag 5, 2 messages, invalid payload, \"bad\"", AppendNotice(nil, NoticeFrame{5, 2, CodeInvalid, "bad"}),
		NoticeFrame{5, 2, CodeInvalid, "bad"},
		func(f Frame) (any, error) { return ParseNotice(f) },
	},
	{"JOIN 2", AppendJoin(nil, 2), uint32(2), func(f Frame) (any, error) { return ParseNumber(f) }},
}

// session is a whole connection: a client publishes two readings and observes those above 30. A test of package broker also uses
// it.
var session = []struct {
	title string
	frame []byte
}{
	{"client: HELLO versions 1 to 1, token \"t0k\", name \"pump\"", AppendHello(nil, HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte("t0k"), Name: "pump"})},
	{
		"node: WELCOME version 1, no data streams, source 1, frames to 1 MiB, window 1 MiB, heartbeat 10 s",
		AppendWelcome(nil, WelcomeFrame{Version: 1, Source: 1, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10000}),
	},
	{"client: TAG ref 1, \"sensors/a\"", AppendTag(nil, TagFrame{1, "sensors/a"})},
	{"node: RESULT of TAG ref 1: ok, number 0", AppendResult(nil, ResultFrame{Kind: Tag, Ref: 1, Value: 0})},
	{
		"client: SUB 3, block, window 64 KiB, the node's queue, \"sensors/#\", where \"v > 30\"",
		AppendSub(nil, SubFrame{ID: 3, Window: 65536, Filter: "sensors/#", Where: "v > 30"}),
	},
	{"node: RESULT of SUB 3: ok", AppendResult(nil, ResultFrame{Kind: Sub, Ref: 3})},
	{
		"client: PUB tag 0, source 1, time 1602168089665565200, cbor {\"v\": 31}",
		AppendPub(nil, PubHeader{0, ferry.CBOR, 0, 1, 1602168089665565200}, []byte("\xa1av\x18\x1f")),
	},
	{
		"client: PUB tag 0, source 1, time 1602168089665565201, cbor {\"v\": 7}",
		AppendPub(nil, PubHeader{0, ferry.CBOR, 0, 1, 1602168089665565201}, []byte("\xa1av\x07")),
	},
	{"client: PING 42", AppendPing(nil, false, 42)},
	{"node: TAG number 0 means \"sensors/a\"", AppendTag(nil, TagFrame{0, "sensors/a"})},
	{"node: SELECT 3", AppendSelect(nil, 3)},
	{
		"node: PUB tag 0, source 1, validated, time 1602168089665565200, cbor {\"v\": 31}",
		AppendPub(nil, PubHeader{FlagValid, ferry.CBOR, 0, 1, 1602168089665565200}, []byte("\xa1av\x18\x1f")),
	},
	{"node: PING 42, the response: both messages are routed, and the second matched no subscription", AppendPing(nil, true, 42)},
	{"client: CREDIT subscription 3, tag 0, 29 bytes", AppendCredit(nil, CreditFrame{3, 0, 29})},
	{"client: UNSUB 3", AppendUnsub(nil, 3)},
	{"client: GOAWAY ok; the node closes the connection", AppendGoaway(nil, GoawayFrame{})},
}

type pub struct {
	PubHeader
	payload string
}

func parsePub(f Frame) (any, error) {
	return pub{PubHeader{f.Flags(), f.Type(), f.Tag(), f.Source(), f.Time()}, string(f.Payload())}, nil
}

func TestVectors(t *testing.T) {
	var b strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&b, "# %s\n%x\n", s.name, s.frame)
	}
	raw := golden(t, "testdata/vectors.txt", b.String())
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for i := 0; lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		frame, err := hex.DecodeString(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		s := samples[i]
		i++
		f, err := Split(append(frame, "next frame"...), DefaultMaxFrame)
		if err != nil || len(f) != len(frame) {
			t.Errorf("%s: Split gave %d of %d bytes, %v", s.name, len(f), len(frame), err)
			continue
		}
		if got, err := s.parse(f); err != nil || !reflect.DeepEqual(got, s.parsed) {
			t.Errorf("%s: got %+v, %v, want %+v", s.name, got, err, s.parsed)
		}
	}
}

func TestSessionVectors(t *testing.T) {
	var b strings.Builder
	for _, s := range session {
		fmt.Fprintf(&b, "# %s\n%x\n", s.title, s.frame)
	}
	raw := golden(t, "testdata/session.txt", b.String())
	doc, err := os.ReadFile("../../docs/native.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(doc, raw) {
		t.Error("docs/native.md does not hold testdata/session.txt as it stands")
	}
}

// golden compares file with want and returns the content of file.
func golden(t *testing.T, file, want string) []byte {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != want {
		t.Errorf("%s and the encoder differ: go test -update, and review the difference", file)
	}
	return raw
}

// TestCut cuts each frame at each byte. The cut frame must be incomplete. If its length is set to the cut length, the frame
// must be malformed.
func TestCut(t *testing.T) {
	for _, s := range samples {
		for n := range s.frame {
			if f, err := Split(s.frame[:n], DefaultMaxFrame); f != nil || err != nil {
				t.Errorf("%s cut at %d: got %x, %v", s.name, n, f, err)
			}
		}
		if Frame(s.frame).Kind() == Pub {
			continue
		}
		if fixedSize(Frame(s.frame).Kind()) > 0 {
			cutExtended(t, s)
			continue
		}
		for n := HeaderSize; n < len(s.frame); n++ {
			short := seal(append([]byte(nil), s.frame[:n]...), 0)
			if s.optional(n) {
				continue
			}
			if _, err := s.parse(short); err == nil {
				t.Errorf("%s of %d bytes was parsed", s.name, n)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name string
		hex  string
		code Code
	}{
		{"longer than the limit", "00100000", CodeTooLarge},
		{"4 GiB", "ffffffff09000000", CodeTooLarge},
		{"shorter than a header", "0000000309000000", CodeProtocol},
		{"PUB without its header", "0000000809000000" + "00000005", CodeProtocol},
		{"PUB whose extension is longer than it", "00000014090000ff" + strings.Repeat("00", 16), CodeProtocol},
		{"HTTP", hex.EncodeToString([]byte("GET / HTTP/1.1\r\n")), CodeTooLarge},
	} {
		raw, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		var e *Error
		if f, err := Split(raw, DefaultMaxFrame); f != nil || !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: got %x, %v, want code %v", c.name, f, err, c.code)
		}
	}
	if _, err := ParseHello(seal(append(appendHeader(nil, Hello, 0), "SSH-2.0-ferry"...), 0)); err == nil {
		t.Error("a HELLO without magic was parsed")
	}
	if _, err := ParseSub(AppendSub(nil, SubFrame{ID: 0, Window: 1, Filter: "a"})); err == nil {
		t.Error("SUB 0 was parsed")
	}
	if _, err := ParseTag(AppendTag(nil, TagFrame{1, "a\xff"})); err == nil {
		t.Error("a tag that is not UTF-8 was parsed")
	}
	if _, err := Negotiate(HelloFrame{MinVersion: Version + 1, MaxVersion: 9}, LowestVersion, Version); err == nil {
		t.Error("a client of later versions was accepted")
	}
}

func TestNegotiate(t *testing.T) {
	for _, c := range []struct{ clientMin, clientMax, nodeMin, nodeMax, want uint8 }{
		{1, 1, 1, 1, 1},
		{1, 1, 1, 2, 1},
		{1, 2, 1, 1, 1},
		{1, 3, 1, 2, 2},
		{2, 2, 1, 3, 2},
		{1, 255, 2, 4, 4},
		{3, 4, 1, 2, 0},
		{1, 1, 2, 2, 0},
		{2, 1, 1, 2, 0}, // an empty range
	} {
		got, err := Negotiate(HelloFrame{MinVersion: c.clientMin, MaxVersion: c.clientMax}, c.nodeMin, c.nodeMax)
		var e *Error
		if got != c.want || (err == nil) == (c.want == 0) || err != nil && (!errors.As(err, &e) || e.Code != CodeVersion) {
			t.Errorf("client %d to %d, node %d to %d: got %d, %v, want %d", c.clientMin, c.clientMax, c.nodeMin, c.nodeMax, got, err, c.want)
		}
	}
}

func TestLongReasonIsCutAtARune(t *testing.T) {
	g, err := ParseGoaway(AppendGoaway(nil, GoawayFrame{CodeOK, strings.Repeat("ä", 40000)}))
	if err != nil || len(g.Reason) > 65535 || !strings.HasSuffix(g.Reason, "ä") {
		t.Errorf("%d bytes, %v", len(g.Reason), err)
	}
}

func TestPolicyNames(t *testing.T) {
	for p := Block; p <= DropNewest; p++ {
		if got, err := ParsePolicy(p.String()); err != nil || got != p {
			t.Errorf("%v: got %v, %v", p, got, err)
		}
	}
	if _, err := ParsePolicy("drop"); err == nil {
		t.Error("the policy drop was accepted")
	}
}

func TestPubAllocatesNothing(t *testing.T) {
	buf, payload := make([]byte, 0, 4096), make([]byte, 100)
	n := testing.AllocsPerRun(100, func() {
		buf = AppendPub(buf[:0], PubHeader{Tag: 1, Source: 2, Time: 3}, payload)
		f, err := Split(buf, DefaultMaxFrame)
		if err != nil || f.Tag() != 1 || len(f.Payload()) != 100 {
			t.Fatal(f, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSplitAndParse(f *testing.F) {
	for _, s := range samples {
		f.Add(s.frame)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := Split(data, 1<<16)
		if frame == nil {
			return
		}
		if err != nil || len(frame) > len(data) || len(frame) != Size(data) {
			t.Fatalf("Split gave %d bytes of %d, %v", len(frame), len(data), err)
		}
		if frame.Kind() == Pub {
			h, _ := parsePub(frame)
			if p := h.(pub); frame[7] == 0 && !bytes.Equal(AppendPub(nil, p.PubHeader, []byte(p.payload)), frame) {
				t.Errorf("%x written again differs", frame)
			}
			fuzzPub(t, frame)
			return
		}
		for _, s := range samples {
			if Frame(s.frame).Kind() == frame.Kind() {
				_, _ = s.parse(frame)
			}
		}
		fuzzCall(t, frame)
		fuzzStored(t, frame)
	})
}

func BenchmarkSplit(b *testing.B) {
	frame := AppendPub(nil, PubHeader{Tag: 1}, make([]byte, 100))
	for b.Loop() {
		if f, err := Split(frame, DefaultMaxFrame); f == nil || err != nil {
			b.Fatal(err)
		}
	}
}
