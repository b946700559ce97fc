package hop_test

import (
	"testing"

	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/hop"
)

func TestNodeWithoutServicesRefusesCalls(t *testing.T) {
	_, addr := serve(t, hop.Config{})
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 2, Limits: native.CallLimits{StreamWindow: 1 << 16}}))
	w, err := native.ParseWelcome(p.read())
	if err != nil || w.Version != 2 || w.Limits != (native.CallLimits{}) {
		t.Fatalf("got %+v, %v, want version 2 without calls", w, err)
	}
	p.write(native.AppendMethod(nil, native.MethodFrame{Method: "a.A.B", Content: "application/json"}))
	p.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagMore, Call: 1, Message: []byte("1")}))
	p.write(native.AppendData(nil, native.DataFrame{Call: 1, Message: []byte("2")}))
	p.write(native.AppendCancel(nil, native.CancelFrame{Call: 1, Code: 1}))
	p.write(native.AppendPing(nil, false, 7))
	r, err := native.ParseReply(p.read())
	if err != nil || r.Call != 1 || r.Code != 12 || r.Flags&native.FlagNotBegun == 0 {
		t.Errorf("got %+v, %v, want code 12 and not begun", r, err)
	}
	if f := p.read(); f.Kind() != native.Ping {
		t.Errorf("got %v, want the response to PING: the connection stays open", f.Kind())
	}
}

func TestCallInVersion1EndsTheConnection(t *testing.T) {
	_, addr := serve(t, hop.Config{})
	p := greet(t, addr)
	p.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: 1}))
	g, err := native.ParseGoaway(p.read())
	if err != nil || g.Code != native.CodeProtocol {
		t.Errorf("got %+v, %v, want a protocol error", g, err)
	}
}
