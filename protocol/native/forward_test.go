package native

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// forwardSamples are the frames of forwarded messages, in version 3.
var forwardSamples = []sample{
	{
		"FORWARD: number 0 is the path of node edge-1",
		AppendForward(nil, ForwardFrame{0, Path{"edge-1"}}),
		ForwardFrame{0, Path{"edge-1"}},
		func(f Frame) (any, error) { return ParseForward(f) },
	},
	{
		"FORWARD: number 1 is the path pump-7, edge-1",
		AppendForward(nil, ForwardFrame{1, Path{"pump-7", "edge-1"}}),
		ForwardFrame{1, Path{"pump-7", "edge-1"}},
		func(f Frame) (any, error) { return ParseForward(f) },
	},
	{
		"PUB tag 5, validated, by path 1, time 1602168089665565200, json {\"v\":31}",
		AppendPub(nil, PubHeader{Flags: FlagValid | FlagForwarded, Type: 4, Tag: 5, Source: 1, Time: 1602168089665565200}, []byte(`{"v":31}`)),
		pub{PubHeader{Flags: FlagValid | FlagForwarded, Type: 4, Tag: 5, Source: 1, Time: 1602168089665565200}, `{"v":31}`},
		parsePub,
	},
	{
		"UNTAG 5",
		AppendUntag(nil, 5),
		uint32(5),
		func(f Frame) (any, error) { return ParseNumber(f) },
	},
	{
		"WELCOME version 3, 8 data streams, source 7, frames to 1 MiB, window 1 MiB, heartbeat 10 s, accepts 100 calls, window 4 MiB, stream window 64 KiB, node hub",
		AppendWelcome(nil, WelcomeFrame{3, 8, 7, 1 << 20, 1 << 20, 10000, CallLimits{100, 1 << 22, 1 << 16}, "hub"}),
		WelcomeFrame{3, 8, 7, 1 << 20, 1 << 20, 10000, CallLimits{100, 1 << 22, 1 << 16}, "hub"},
		func(f Frame) (any, error) { return ParseWelcome(f) },
	},
}

func TestForwardSessionVectors(t *testing.T) {
	hello := AppendHello(nil, HelloFrame{3, 3, []byte("t0k"), "edge-1", CallLimits{}})
	welcome := AppendWelcome(nil, WelcomeFrame{3, 0, 1, 1 << 20, 1 << 20, 10000, CallLimits{}, "hub"})
	forwarded := func(flags byte, path, tag uint32, payload string) []byte {
		f := AppendPub(nil, PubHeader{Flags: flags, Type: 4, Time: 1602168089665565200}, []byte(payload))
		Frame(f).Address(tag, path)
		return f
	}
	var b strings.Builder
	for _, s := range []struct {
		title string
		frame []byte
	}{
		{"client: HELLO versions 3 to 3, token \"t0k\", name \"edge-1\"", hello},
		{"node: WELCOME version 3, no data streams, source 1, frames to 1 MiB, window 1 MiB, heartbeat 10 s, node hub", welcome},
		{"client: TAG ref 1, \"sensors/a\"", AppendTag(nil, TagFrame{1, "sensors/a"})},
		{"node: RESULT of TAG ref 1: ok, number 0", AppendResult(nil, ResultFrame{Kind: Tag, Ref: 1})},
		{"client: SUB 3, block, window 64 KiB, the node's queue, \"sensors/#\"", AppendSub(nil, SubFrame{ID: 3, Window: 65536, Filter: "sensors/#"})},
		{"node: RESULT of SUB 3: ok", AppendResult(nil, ResultFrame{Kind: Sub, Ref: 3})},
		{"client: FORWARD: number 0 is the path of node edge-1", AppendForward(nil, ForwardFrame{0, Path{"edge-1"}})},
		{"client: PUB tag 0, by path 0, validated, time 1602168089665565200, json {\"v\":1}", forwarded(FlagValid, 0, 0, `{"v":1}`)},
		{"client: FORWARD: number 1 is the path hub, edge-1: the message has come from hub", AppendForward(nil, ForwardFrame{1, Path{"hub", "edge-1"}})},
		{"client: PUB tag 0, by path 1, validated, time 1602168089665565200, json {\"v\":2}", forwarded(FlagValid, 1, 0, `{"v":2}`)},
		{"client: PING 42", AppendPing(nil, false, 42)},
		{"node: TAG number 0 means \"sensors/a\"", AppendTag(nil, TagFrame{0, "sensors/a"})},
		{"node: SELECT 3", AppendSelect(nil, 3)},
		{"node: PUB tag 0, source 1, validated, time 1602168089665565200, json {\"v\":1}", AppendPub(nil, PubHeader{Flags: FlagValid, Type: 4, Source: 1, Time: 1602168089665565200}, []byte(`{"v":1}`))},
		{"node: PING 42, the response: the second message was dropped", AppendPing(nil, true, 42)},
		{"client: UNTAG 0", AppendUntag(nil, 0)},
		{"client: GOAWAY ok; the node closes the connection", AppendGoaway(nil, GoawayFrame{})},
	} {
		fmt.Fprintf(&b, "# %s\n%x\n", s.title, s.frame)
	}
	golden(t, "testdata/forward.txt", b.String())
}

func TestMalformedPaths(t *testing.T) {
	long := strings.Repeat("n", MaxNodeID+1)
	many := make(Path, MaxHops+1)
	for i := range many {
		many[i] = fmt.Sprint("n", i)
	}
	for name, v := range map[string]ForwardFrame{
		"no node":            {0, nil},
		"too many nodes":     {0, many},
		"a number too high":  {MaxPaths, Path{"a"}},
		"a node twice":       {0, Path{"a", "b", "a"}},
		"an empty id":        {0, Path{"a", ""}},
		"an id too long":     {0, Path{long}},
		"an id with a slash": {0, Path{"a/b"}},
	} {
		var e *Error
		if _, err := ParseForward(AppendForward(nil, v)); !errors.As(err, &e) || e.Code != CodeProtocol {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
