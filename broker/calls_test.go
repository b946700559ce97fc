package broker_test

import (
	"crypto/tls"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// window is the stream window of the clients in these tests, in bytes.
const window = 256 << 10

// greetCalls connects a client of version 2 that accepts this many calls.
func greetCalls(t *testing.T, addr, token string, calls uint32) *peer {
	t.Helper()
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 2, Token: []byte(token), Limits: native.CallLimits{Calls: calls, Window: 1 << 20, StreamWindow: window}}))
	if _, err := native.ParseWelcome(p.read()); err != nil {
		t.Fatal(err)
	}
	return p
}

// offer offers a service, or withdraws it, and returns the code of the RESULT.
func (p *peer) offer(v native.OfferFrame) native.Code {
	p.t.Helper()
	p.write(native.AppendOffer(nil, v))
	r, err := native.ParseResult(p.read())
	if err != nil || r.Kind != native.Offer || r.Ref != v.ID || (r.Value == native.Withdrawn) != v.Withdraw {
		p.t.Fatalf("got %+v, %v, want the RESULT of offer %d", r, err, v.ID)
	}
	return r.Code
}

// call sends METHOD and a CALL with one request.
func (p *peer) call(id uint32, method string, timeout uint32) {
	p.t.Helper()
	p.write(native.AppendCall(native.AppendMethod(nil, native.MethodFrame{Method: method, Content: "application/json"}),
		native.CallFrame{Flags: native.FlagEnd, Call: id, Timeout: timeout, Message: []byte("1")}))
}

// served reads a CALL, and the METHOD before it if there is one.
func (p *peer) served() native.CallFrame {
	p.t.Helper()
	f := p.read()
	if f.Kind() == native.Method {
		f = p.read()
	}
	if f.Kind() != native.Call {
		p.t.Fatalf("got %v, want a CALL", f.Kind())
	}
	c, err := native.ParseCall(f)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *peer) reply(id uint32) {
	p.t.Helper()
	p.write(native.AppendReply(nil, native.ReplyFrame{Call: id, Message: []byte("2")}))
}

// wantReply reads a REPLY with this code.
func (p *peer) wantReply(id, code uint32, notBegun bool) native.ReplyFrame {
	p.t.Helper()
	f := p.read()
	if f.Kind() != native.Reply {
		p.t.Fatalf("got %v, want a REPLY", f.Kind())
	}
	r, err := native.ParseReply(f)
	if err != nil || r.Call != id || r.Code != code || r.Flags&native.FlagNotBegun != 0 != notBegun {
		p.t.Fatalf("got %+v, %v, want the REPLY to call %d with code %d, not begun: %v", r, err, id, code, notBegun)
	}
	return r
}

// wantOpen fails if the connection has ended.
func (p *peer) wantOpen() {
	p.t.Helper()
	p.write(native.AppendPing(nil, false, 7))
	if f := p.read(); f == nil || f.Kind() != native.Ping {
		p.t.Fatalf("got %v, want the response to PING", f)
	}
}

func TestUnknownServiceIsUnimplemented(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	p := greetCalls(t, addr, "", 0)
	p.write(native.AppendMethod(nil, native.MethodFrame{Method: "a.A.B", Content: "application/json"}))
	p.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagMore, Call: 1, Message: []byte("1")}))
	p.write(native.AppendData(nil, native.DataFrame{Call: 1, Message: []byte("2")}))
	p.write(native.AppendCancel(nil, native.CancelFrame{Call: 1, Code: 1}))
	p.wantReply(1, 12, true)
	p.wantOpen()
}

func TestCallInVersion1EndsTheConnection(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	p := greet(t, addr)
	p.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: 1}))
	g, err := native.ParseGoaway(p.read())
	if err != nil || g.Code != native.CodeProtocol {
		t.Errorf("got %+v, %v, want a protocol error", g, err)
	}
}

// TestCallCrossesTheNode: numbers of calls and methods are of one connection each; all else is passed on as it is.
func TestCallCrossesTheNode(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	server, caller := greetCalls(t, addr, "", 10), greetCalls(t, addr, "", 0)
	if code := server.offer(native.OfferFrame{ID: 1, Service: "a.A"}); code != native.CodeOK {
		t.Fatal(code)
	}
	extension := native.AppendNamedTLV(nil, native.TLVMetadata, "name", "value")
	caller.write(native.AppendMethod(nil, native.MethodFrame{Number: 9, Method: "a.A.B", Content: "application/json"}))
	caller.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd | native.FlagCompressed, Compression: 2, Call: 77, Method: 9, Timeout: 60_000, Extension: extension, Message: []byte("12")}))
	m, err := native.ParseMethod(server.read())
	if err != nil || m != (native.MethodFrame{Number: 0, Method: "a.A.B", Content: "application/json"}) {
		t.Fatalf("got %+v, %v", m, err)
	}
	c := server.served()
	if c.Call == 0 || c.Call&1 != 0 || c.Method != 0 || c.Flags != native.FlagEnd|native.FlagCompressed || c.Compression != 2 || c.Timeout != 60_000 || string(c.Message) != "12" || string(c.Extension[:len(extension)]) != string(extension) {
		t.Errorf("got %+v", c)
	}
	server.reply(c.Call)
	if r := caller.wantReply(77, 0, false); string(r.Message) != "2" {
		t.Errorf("got %+v", r)
	}
}

// TestCallsGoToTheLeastBusyInstance has two instances, and calls whose responses are late.
func TestCallsGoToTheLeastBusyInstance(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	one, two, caller := greetCalls(t, addr, "", 10), greetCalls(t, addr, "", 10), greetCalls(t, addr, "", 0)
	one.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	caller.call(1, "a.A.B", 0)
	caller.call(3, "a.A.B", 0)
	first, second := one.served(), one.served()
	two.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	caller.call(5, "a.A.B", 0)
	caller.call(7, "a.A.B", 0)
	two.served()
	two.served()
	one.reply(first.Call)
	one.reply(second.Call)
	caller.wantReply(1, 0, false)
	caller.wantReply(3, 0, false)
	caller.call(9, "a.A.B", 0)
	one.served()
}

// TestCallWaits has an instance that serves one call at a time.
func TestCallWaits(t *testing.T) {
	b, addr := serve(t, broker.Config{})
	server, caller := greetCalls(t, addr, "", 1), greetCalls(t, addr, "", 0)
	server.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	caller.call(1, "a.A.B", 0)
	first := server.served()
	caller.call(3, "a.A.B", 60_000)
	caller.call(5, "a.A.B", 1)
	caller.call(7, "a.A.B", 0)
	caller.write(native.AppendCancel(nil, native.CancelFrame{Call: 7, Code: 1}))
	caller.wantReply(7, 1, true)
	if s := b.Services()[1]; s.Waiting != 2 || s.Active != 3 {
		t.Errorf("got %d waiting and %d active calls, want 2 and 3", s.Waiting, s.Active)
	}
	time.Sleep(5 * time.Millisecond) // calls are not waiting for it: the deadline of call 5 passes
	server.reply(first.Call)
	caller.wantReply(1, 0, false)
	second := server.served()
	if second.Timeout == 0 || second.Timeout >= 60_000 {
		t.Errorf("got a timeout of %d ms, want less than before the call waited", second.Timeout)
	}
	server.reply(second.Call)
	caller.wantReply(3, 0, false)
	caller.wantReply(5, 4, true)
	if s := b.Services()[1]; s.Waiting != 0 || s.Active != 0 || s.Codes[0] != 2 || s.Codes[1] != 1 || s.Codes[4] != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestWithdrawnService: the client completes its calls and gets no further ones.
func TestWithdrawnService(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	server, caller := greetCalls(t, addr, "", 1), greetCalls(t, addr, "", 0)
	server.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	caller.call(1, "a.A.B", 0)
	first := server.served()
	caller.call(3, "a.A.B", 0) // waits
	caller.wantOpen()
	server.offer(native.OfferFrame{ID: 1, Withdraw: true})
	caller.wantReply(3, 14, true)
	caller.call(5, "a.A.B", 0)
	caller.wantReply(5, 14, true)
	server.reply(first.Call)
	caller.wantReply(1, 0, false)
}

// TestInstanceIsLost: a call that an instance has may have begun.
func TestInstanceIsLost(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	server, caller := greetCalls(t, addr, "", 1), greetCalls(t, addr, "", 0)
	server.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	caller.call(1, "a.A.B", 0)
	server.served()
	caller.call(3, "a.A.B", 0)
	caller.wantOpen()
	_ = server.conn.Close()
	caller.wantReply(3, 14, true)
	caller.wantReply(1, 14, false)
}

// TestCallerIsLost: the instance is told to stop, and its response is discarded.
func TestCallerIsLost(t *testing.T) {
	b, addr := serve(t, broker.Config{})
	server, caller := greetCalls(t, addr, "", 1), greetCalls(t, addr, "", 0)
	server.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	caller.call(1, "a.A.B", 0)
	c := server.served()
	_ = caller.conn.Close()
	got, err := native.ParseCancel(server.read())
	if err != nil || got.Call != c.Call {
		t.Errorf("got %+v, %v, want CANCEL of call %d", got, err, c.Call)
	}
	other := greetCalls(t, addr, "", 0)
	other.call(1, "a.A.B", 0)
	other.wantOpen()
	if s := b.Services()[1]; s.Waiting != 1 {
		t.Errorf("%d calls wait, want 1: the instance still owes a REPLY", s.Waiting)
	}
	server.reply(c.Call)
	server.reply(server.served().Call)
	other.wantReply(1, 0, false)
}

// TestCallerBreaksTheRules: the node closes the caller's connection, and not that of the instance.
func TestCallerBreaksTheRules(t *testing.T) {
	_, addr := serve(t, broker.Config{CallStreamWindow: 100, CallWindow: 100, MaxCalls: 2})
	server := greetCalls(t, addr, "", 10)
	server.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	method := native.AppendMethod(nil, native.MethodFrame{Method: "a.A.B"})
	single := func(id uint32, n int) []byte {
		return native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: id, Message: make([]byte, n)})
	}
	open := native.AppendCall(nil, native.CallFrame{Flags: native.FlagNoMessage, Call: 1})
	data := func(flags byte, n int) []byte {
		return native.AppendData(nil, native.DataFrame{Flags: flags, Call: 1, Message: make([]byte, n)})
	}
	begin := func(id uint32, n int) []byte { // the first piece of the only request
		return native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd | native.FlagMore, Call: id, Message: make([]byte, n)})
	}
	piece := func(id uint32, n int) []byte {
		return native.AppendData(nil, native.DataFrame{Flags: native.FlagMore, Call: id, Message: make([]byte, n)})
	}
	for _, row := range []struct {
		name   string
		frames [][]byte
		want   native.Code
	}{
		{"requests in pieces that use up the window", [][]byte{method, begin(1, 1), begin(3, 1), piece(1, 1000), piece(3, 99)}, native.CodeCredit},
		{"requests whose first pieces are empty", [][]byte{method, begin(1, 0), begin(3, 0), piece(3, 100), piece(1, 100)}, native.CodeCredit},
		{"a number that is in use", [][]byte{method, single(1, 1), single(1, 1)}, native.CodeProtocol},
		{"a number of the node", [][]byte{method, single(2, 1)}, native.CodeProtocol},
		{"a method without a name", [][]byte{single(1, 1)}, native.CodeProtocol},
		{"too many calls", [][]byte{method, single(1, 1), single(3, 1), single(5, 1)}, native.CodeCredit},
		{"the window is used up", [][]byte{method, single(1, 100), single(3, 1)}, native.CodeCredit},
		{"the stream window is used up", [][]byte{method, open, data(0, window/4), data(0, window/4), data(0, window/4), data(0, window/4), data(0, 1)}, native.CodeCredit},
		{"data behind the end", [][]byte{method, open, data(native.FlagEnd, 1), data(0, 1)}, native.CodeProtocol},
		{"no message within a message", [][]byte{method, open, data(native.FlagMore, 1), data(native.FlagNoMessage, 0)}, native.CodeProtocol},
		{"a malformed extension", [][]byte{method, native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: 1, Extension: []byte{1, 2, 3, 4}})}, native.CodeProtocol},
	} {
		t.Run(row.name, func(t *testing.T) {
			caller := greetCalls(t, addr, "", 0)
			for _, f := range row.frames {
				caller.write(f)
			}
			if g := caller.goaway(); g.Code != row.want {
				t.Errorf("got %+v, want %v", g, row.want)
			}
		})
	}
	server.write(native.AppendPing(nil, false, 7))
	for f := server.read(); f.Kind() != native.Ping; f = server.read() { // what the callers have sent before the mistake
		if f == nil || f.Kind() == native.Goaway {
			t.Fatalf("the connection of the instance has ended: %v", f)
		}
	}
}

// TestGrantsOfCalls has identities that may only call, and only serve, services below a name.
func TestGrantsOfCalls(t *testing.T) {
	credential := func(name string, call, serve []string) broker.Credential {
		return broker.Credential{Identity: broker.Identity{Name: name, Call: call, Serve: serve}, TokenHash: broker.HashToken([]byte(name))}
	}
	set := func(list ...broker.Credential) *broker.Identities {
		ids, err := broker.NewIdentities(list)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	b, addr := serve(t, broker.Config{Identify: func([]byte, *tls.ConnectionState) (*broker.Identity, error) { panic("replaced") }})
	b.SetIdentities(set(credential("caller", []string{"a.*"}, nil), credential("server", nil, []string{"a.*", "b.B"})))
	server, caller := greetCalls(t, addr, "server", 10), greetCalls(t, addr, "caller", 10)
	for i, row := range []struct {
		p       *peer
		service string
		want    native.Code
	}{
		{server, "a.A", native.CodeOK},
		{server, "b.B", native.CodeOK},
		{server, "c.C", native.CodeForbidden},
		{server, "a..A", native.CodeBadRequest},
		{server, "a.A", native.CodeBadRequest}, // twice
		{caller, "a.A", native.CodeForbidden},
	} {
		if code := row.p.offer(native.OfferFrame{ID: uint32(i + 1), Service: row.service}); code != row.want {
			t.Errorf("offer of %s: got %v, want %v", row.service, code, row.want)
		}
	}
	caller.call(1, "a.A.B", 0)
	c := server.served()
	caller.call(3, "b.B.B", 0)
	caller.wantReply(3, 7, true)
	caller.call(5, "a.Other.B", 0)
	caller.wantReply(5, 14, true) // an identity may serve it

	b.SetIdentities(set(credential("caller", nil, nil), credential("server", nil, []string{"b.B"})))
	r, err := native.ParseResult(server.read())
	if err != nil || r.Kind != native.Offer || r.Code != native.CodeForbidden {
		t.Errorf("got %+v, %v, want the end of the offer", r, err)
	}
	caller.call(7, "a.A.B", 0)
	caller.wantReply(7, 7, true)
	server.reply(c.Call) // a call in progress goes on
	caller.wantReply(1, 0, false)
}

// TestRequestInPiecesExceedsTheWindow: a CALL may be sent while some of the window is left, so all of its pieces may exceed it.
func TestRequestInPiecesExceedsTheWindow(t *testing.T) {
	_, addr := serve(t, broker.Config{CallWindow: 100})
	server, caller := greetCalls(t, addr, "", 10), greetCalls(t, addr, "", 0)
	server.offer(native.OfferFrame{ID: 1, Service: "a.A"})
	caller.call(1, "a.A.B", 0)
	caller.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd | native.FlagMore, Call: 3, Message: make([]byte, 98)}))
	for range 3 {
		caller.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagMore, Call: 3, Message: make([]byte, 100)}))
	}
	caller.write(native.AppendData(nil, native.DataFrame{Call: 3, Message: make([]byte, 100)}))
	server.reply(server.served().Call)
	caller.wantReply(1, 0, false)
	if c := server.served(); len(c.Message) != 98 {
		t.Fatalf("got %+v", c)
	}
	caller.wantOpen()
}
