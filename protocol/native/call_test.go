package native

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/ferry"
)

// callSamples are the frames of version 2.
var callSamples = []sample{
	{
		"PUB tag 5, source 7, time 1, raw \"x\", extension with sequence 9 and hops 1",
		AppendExtendedPub(nil, PubHeader{0, ferry.Raw, 5, 7, 1}, sequenceAndHops, []byte("x")),
		pub{PubHeader{0, ferry.Raw, 5, 7, 1}, "x"},
		parsePub,
	},
	{
		"HELLO versions 2 to 2, no token, name \"c\", accepts 8 calls, window 1 MiB, stream window 64 KiB",
		AppendHello(nil, HelloFrame{2, 2, nil, "c", CallLimits{8, 1 << 20, 1 << 16}}),
		HelloFrame{2, 2, []byte{}, "c", CallLimits{8, 1 << 20, 1 << 16}},
		func(f Frame) (any, error) { return ParseHello(f) },
	},
	{
		"WELCOME version 2, source 1, frames to 256 KiB, no tags, heartbeat 10 s, accepts 100 calls, window 4 MiB, stream window 64 KiB",
		AppendWelcome(nil, WelcomeFrame{2, 0, 1, 1 << 18, 0, 10000, CallLimits{100, 1 << 22, 1 << 16}, ""}),
		WelcomeFrame{2, 0, 1, 1 << 18, 0, 10000, CallLimits{100, 1 << 22, 1 << 16}, ""},
		func(f Frame) (any, error) { return ParseWelcome(f) },
	},
	{
		"METHOD 0 is \"greeter.Greeter.Hello\" with \"application/json\"",
		AppendMethod(nil, MethodFrame{0, "greeter.Greeter.Hello", "application/json"}),
		MethodFrame{0, "greeter.Greeter.Hello", "application/json"},
		func(f Frame) (any, error) { return ParseMethod(f) },
	},
	{
		"CALL 1 of method 0, at most 250 ms, one request: {\"name\":\"Bo\"}",
		AppendCall(nil, CallFrame{FlagEnd, Uncompressed, 1, 0, 250, nil, []byte(`{"name":"Bo"}`)}),
		CallFrame{FlagEnd, Uncompressed, 1, 0, 250, []byte{}, []byte(`{"name":"Bo"}`)},
		func(f Frame) (any, error) { return ParseCall(f) },
	},
	{
		"CALL 3 of method 1, zstd, metadata k: v, no request yet",
		AppendCall(nil, CallFrame{FlagNoMessage, Zstd, 3, 1, 0, AppendNamedTLV(nil, TLVMetadata, "k", "v"), nil}),
		CallFrame{FlagNoMessage, Zstd, 3, 1, 0, []byte("\x10\x00\x03\x01kv\x00\x00"), []byte{}},
		func(f Frame) (any, error) { return ParseCall(f) },
	},
	{
		"DATA of call 3, a compressed piece",
		AppendData(nil, DataFrame{FlagMore | FlagCompressed, 3, nil, []byte("abc")}),
		DataFrame{FlagMore | FlagCompressed, 3, []byte{}, []byte("abc")},
		func(f Frame) (any, error) { return ParseData(f) },
	},
	{
		"DATA of call 3, no message, the caller's end",
		AppendData(nil, DataFrame{FlagNoMessage | FlagEnd, 3, nil, nil}),
		DataFrame{FlagNoMessage | FlagEnd, 3, []byte{}, []byte{}},
		func(f Frame) (any, error) { return ParseData(f) },
	},
	{
		"REPLY to call 1, ok: {}", AppendReply(nil, ReplyFrame{0, 1, 0, nil, []byte("{}")}),
		ReplyFrame{0, 1, 0, []byte{}, []byte("{}")},
		func(f Frame) (any, error) { return ParseReply(f) },
	},
	{
		"REPLY to call 3: code 5 (not found) \"no k\", with a detail \"t\" of one byte and trailer a: b",
		AppendReply(nil, ReplyFrame{FlagNoMessage, 3, 5, notFoundExtension, nil}),
		ReplyFrame{FlagNoMessage, 3, 5, append(notFoundExtension[:len(notFoundExtension):len(notFoundExtension)], 0), []byte{}},
		func(f Frame) (any, error) { return ParseReply(f) },
	},
	{"CANCEL call 3, code 1 (cancelled)", AppendCancel(nil, CancelFrame{3, 1}), CancelFrame{3, 1}, func(f Frame) (any, error) { return ParseCancel(f) }},
	{
		"CALLCREDIT of call 3, 4096 bytes", AppendCallCredit(nil, CallCreditFrame{3, 4096}),
		CallCreditFrame{3, 4096},
		func(f Frame) (any, error) { return ParseCallCredit(f) },
	},
	{
		"OFFER 1 of greeter.Greeter", AppendOffer(nil, OfferFrame{ID: 1, Service: "greeter.Greeter"}),
		OfferFrame{ID: 1, Service: "greeter.Greeter"},
		func(f Frame) (any, error) { return ParseOffer(f) },
	},
	{
		"OFFER 1 is withdrawn", AppendOffer(nil, OfferFrame{ID: 1, Withdraw: true}),
		OfferFrame{ID: 1, Withdraw: true},
		func(f Frame) (any, error) { return ParseOffer(f) },
	},
	{
		"RESULT of OFFER 1, which is withdrawn: ok",
		AppendResult(nil, ResultFrame{Kind: Offer, Ref: 1, Value: Withdrawn}),
		ResultFrame{Kind: Offer, Ref: 1, Value: Withdrawn},
		func(f Frame) (any, error) { return ParseResult(f) },
	},
}

var (
	sequenceAndHops = AppendTLV(AppendTLV(nil, TLVSequence, []byte{0, 0, 0, 0, 0, 0, 0, 9}), TLVHops, []byte{1})

	notFoundExtension = AppendNamedTLV(AppendNamedTLV(AppendTLV(nil, TLVMessage, "no k"), TLVDetail, "t", []byte{1}), TLVTrailer, "a", "b")
)

// callSession is a connection with three calls: one that succeeds, one of a method that the server does not have, and one that the
// caller cancels. A test of package rpc/native also uses it.
var callSession = []struct {
	title string
	frame []byte
}{
	{"client: HELLO versions 2 to 2, no token, name \"c\", accepts no calls but streams of 64 KiB", AppendHello(nil, HelloFrame{2, 2, nil, "c", CallLimits{0, 0, 1 << 16}})},
	{
		"server: WELCOME version 2, source 1, frames to 256 KiB, no tags, heartbeat 10 s, accepts 100 calls, window 4 MiB, stream window 64 KiB",
		AppendWelcome(nil, WelcomeFrame{2, 0, 1, 1 << 18, 0, 10000, CallLimits{100, 1 << 22, 1 << 16}, ""}),
	},
	{"client: METHOD 0 is \"echo.Echo.Say\" with \"application/json\"", AppendMethod(nil, MethodFrame{0, "echo.Echo.Say", "application/json"})},
	{"client: CALL 1 of method 0, the only request is \"hi\"", AppendCall(nil, CallFrame{Flags: FlagEnd, Call: 1, Message: []byte(`"hi"`)})},
	{"server: REPLY to call 1, ok, the response is \"hi\"", AppendReply(nil, ReplyFrame{Call: 1, Message: []byte(`"hi"`)})},
	{"client: METHOD 1 is \"echo.Echo.Shout\" with \"application/json\"", AppendMethod(nil, MethodFrame{1, "echo.Echo.Shout", "application/json"})},
	{"client: CALL 3 of method 1", AppendCall(nil, CallFrame{Flags: FlagEnd, Call: 3, Method: 1, Message: []byte(`"hi"`)})},
	{
		"server: REPLY to call 3: code 12 (unimplemented)",
		AppendReply(nil, ReplyFrame{FlagNoMessage, 3, 12, AppendTLV(nil, TLVMessage, "no method echo.Echo.Shout"), nil}),
	},
	{"client: METHOD 2 is \"echo.Echo.Repeat\" with \"application/json\"", AppendMethod(nil, MethodFrame{2, "echo.Echo.Repeat", "application/json"})},
	{"client: CALL 5 of method 2, without a request yet", AppendCall(nil, CallFrame{Flags: FlagNoMessage, Call: 5, Method: 2})},
	{"client: DATA of call 5, a request", AppendData(nil, DataFrame{Call: 5, Message: []byte(`"a"`)})},
	{"server: DATA of call 5, a response", AppendData(nil, DataFrame{Call: 5, Message: []byte(`"a"`)})},
	{"client: CANCEL call 5, code 1 (cancelled)", AppendCancel(nil, CancelFrame{5, 1})},
	{
		"server: REPLY to call 5: code 1 (cancelled)",
		AppendReply(nil, ReplyFrame{FlagNoMessage, 5, 1, AppendTLV(nil, TLVMessage, "context canceled"), nil}),
	},
	{"client: GOAWAY ok; the server closes the connection", AppendGoaway(nil, GoawayFrame{})},
}

func TestCallSessionVectors(t *testing.T) {
	var b strings.Builder
	for _, s := range callSession {
		fmt.Fprintf(&b, "# %s\n%x\n", s.title, s.frame)
	}
	golden(t, "testdata/calls.txt", b.String())
}

// optional reports whether the frame may end at n, before what later versions append to it.
func (s *sample) optional(n int) bool {
	left := len(s.frame) - n
	switch v := s.parsed.(type) {
	case HelloFrame:
		return v.Limits != (CallLimits{}) && left == limitsSize
	case WelcomeFrame:
		if v.Node != "" {
			return left == 2+len(v.Node) || left == limitsSize+2+len(v.Node)
		}
		return v.Limits != (CallLimits{}) && left == limitsSize
	case SubFrame:
		return v.Stored() && left == 14+len(v.Durable)
	}
	return false
}

// cutExtended cuts a CALL, REPLY or DATA within its header and its extension. Split must refuse it.
func cutExtended(t *testing.T, s sample) {
	t.Helper()
	for n := HeaderSize; n < fixedSize(Frame(s.frame).Kind())+4*int(s.frame[7]); n++ {
		if f, err := Split(seal(append([]byte(nil), s.frame[:n]...), 0), DefaultMaxFrame); err == nil {
			t.Errorf("%s of %d bytes was accepted as %x", s.name, n, f)
		}
	}
}

// fuzzCall checks that a CALL, REPLY or DATA keeps its meaning when it is written again.
func fuzzCall(t *testing.T, f Frame) {
	switch f.Kind() {
	case Call:
		if c, err := ParseCall(f); err == nil {
			again, err := ParseCall(AppendCall(nil, c))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(c) {
				t.Errorf("%+v became %+v, %v", c, again, err)
			}
			fuzzTLVs(t, c.Extension)
		}
	case Reply:
		if r, err := ParseReply(f); err == nil {
			again, err := ParseReply(AppendReply(nil, r))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
				t.Errorf("%+v became %+v, %v", r, again, err)
			}
			fuzzTLVs(t, r.Extension)
		}
	case Data:
		if d, err := ParseData(f); err == nil {
			again, err := ParseData(AppendData(nil, d))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(d) {
				t.Errorf("%+v became %+v, %v", d, again, err)
			}
			fuzzTLVs(t, d.Extension)
		}
	}
}

func fuzzTLVs(t *testing.T, extension []byte) {
	var again []byte
	for typ, value := range TLVs(extension) {
		again = AppendTLV(again, typ, value)
	}
	if CheckTLVs(extension) == nil && CheckTLVs(again) != nil {
		t.Errorf("%x became %x", extension, again)
	}
}

// TestLongExtension has an extension whose length does not fit into the header.
func TestLongExtension(t *testing.T) {
	ext := AppendTLV(AppendNamedTLV(nil, TLVMetadata, "long", strings.Repeat("x", 2000)), TLVHops, []byte{2})
	raw := AppendCall(nil, CallFrame{Call: 7, Extension: ext, Message: []byte("m")})
	for n := range raw {
		if f, err := Split(raw[:n], DefaultMaxFrame); f != nil || err != nil {
			t.Fatalf("cut at %d: got %d bytes, %v", n, len(f), err)
		}
	}
	f, err := Split(raw, DefaultMaxFrame)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCall(f)
	if err != nil || !bytes.HasPrefix(c.Extension, ext) || string(c.Message) != "m" {
		t.Errorf("got an extension of %d bytes and message %q, %v, want %d and m", len(c.Extension), c.Message, err, len(ext))
	}
	var types []TLV
	for typ := range TLVs(c.Extension) {
		types = append(types, typ)
	}
	if want := []TLV{TLVMetadata, TLVHops}; !slices.Equal(types, want) {
		t.Errorf("got entries %v, want %v", types, want)
	}
	name, value, ok := NamedTLV(ext[3:])
	if !ok || string(name) != "long" || len(value) < 2000 {
		t.Errorf("got %q and %d bytes, %v", name, len(value), ok)
	}
}

func TestMalformedCalls(t *testing.T) {
	tooLong := AppendCall(nil, CallFrame{Extension: make([]byte, MaxCallExtension+4)})
	for _, c := range []struct {
		name  string
		frame []byte
		code  Code
	}{
		{"extension above the bound", tooLong, CodeProtocol},
		{"message in a frame without one", AppendData(nil, DataFrame{FlagNoMessage, 1, nil, []byte("x")}), CodeProtocol},
		{"more of no message", AppendData(nil, DataFrame{FlagNoMessage | FlagMore, 1, nil, nil}), CodeProtocol},
		{"piece above the bound", AppendData(nil, DataFrame{0, 1, nil, make([]byte, MaxPiece+1)}), CodeTooLarge},
		{"method number above the bound", AppendMethod(nil, MethodFrame{MaxMethods, "a.B.C", "x"}), CodeLimit},
		{"method without a name", AppendMethod(nil, MethodFrame{0, "", "x"}), CodeBadRequest},
	} {
		f, err := Split(c.frame, DefaultMaxFrame)
		if err == nil {
			switch f.Kind() {
			case Data:
				_, err = ParseData(f)
			case Method:
				_, err = ParseMethod(f)
			}
		}
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: got %v, want code %v", c.name, err, c.code)
		}
	}
	for _, ext := range []string{"\x01", "\x01\x00\x02a", "\x10\x00\x00", "\x10\x00\x02\x02a"} {
		if CheckTLVs([]byte(ext)) == nil {
			t.Errorf("the malformed extension %x was accepted", ext)
		}
	}
}

func TestCallAllocatesNothing(t *testing.T) {
	buf, message := make([]byte, 0, 1<<10), make([]byte, 581)
	if n := testing.AllocsPerRun(100, func() {
		b := AppendCall(buf, CallFrame{Flags: FlagEnd, Call: 1, Message: message})
		f, err := Split(b, DefaultMaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := ParseCall(f); err != nil || len(c.Message) != 581 {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
