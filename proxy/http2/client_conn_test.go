package http2

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http2"
)

var fixed = []route.Rule{{Name: "fixed", Respond: &route.Response{Status: 200, Body: "fixed"}}}

// shutdown shuts down the client connections of the rig's listener, as a reload that removes the listener does.
func (r *rig) shutdown() {
	r.TB.Helper()
	for _, l := range r.Group.Loops() {
		proxytest.OnLoop(r.TB, l, func() bool {
			for c, h := range l.All() {
				if r.service.Owns(h) {
					h.(loop.Shutdowner).Shutdown(c)
				}
			}
			return true
		})
	}
}

// TestDrain: a connection that shuts down names 2^31-1 first, still accepts requests, names its last stream after the PING,
// and closes once its streams have ended.
func TestDrain(t *testing.T) {
	r, m, do := memory(t, setup{})
	p := newPeer(t, r.addr)
	_, x := p.request("GET", "/", true)
	p.flush()
	u := opened(t, m, do, 1)
	r.shutdown()
	p.until("the first GOAWAY", func() bool { return len(p.goAway) == 1 })
	if p.last != 1<<31-1 || p.goAway[0] != wire.NoError {
		t.Errorf("the first GOAWAY has last stream %d and %v", p.last, p.goAway)
	}
	p.until("the second GOAWAY", func() bool { return len(p.goAway) == 2 })
	if p.last != 1 {
		t.Errorf("the second GOAWAY has last stream %d, want 1", p.last)
	}
	do(func() {
		u.Respond(&proxytest.ResponseHead{Code: 200, Length: 2})
		u.Data([]byte("ok"))
		u.End(nil)
	})
	p.over(x)
	if string(x.body) != "ok" {
		t.Errorf("the last response is %q", x.body)
	}
	p.closed()
	p.conn.Close()
	r.settled()
}

// TestDrainOfSilentClients: a client that does not respond to PING is drained too.
func TestDrainOfSilentClients(t *testing.T) {
	r := start(t, setup{rules: fixed})
	p := newPeer(t, r.addr)
	p.settle()
	r.shutdown()
	rest, err := io.ReadAll(p.conn) // reads and responds to nothing
	if err != nil || bytes.Count(rest, []byte("\x00\x00\x08\x07\x00")) != 2 {
		t.Errorf("%x, %v; want two GOAWAY frames and the end", rest, err)
	}
	p.conn.Close()
	r.settled()
}

// TestIdle: a connection without requests is drained after the idle timeout, one with a request is not.
func TestIdle(t *testing.T) {
	const idle = 10 * proxytest.Brief // the request has to come before it is over
	r, m, do := memory(t, setup{config: Config{HTTPConfig: exchange.HTTPConfig{IdleTimeout: idle}}})
	p := newPeer(t, r.addr)
	_, x := p.request("GET", "/", true)
	p.flush()
	u := opened(t, m, do, 1)
	time.Sleep(2 * idle)
	do(func() { u.Respond(&proxytest.ResponseHead{Code: 200, Length: 0}); u.End(nil) })
	p.over(x)
	p.closed()
	if x.status != 200 || len(p.goAway) != 2 {
		t.Errorf("status %d, GOAWAY %v; want 200, and two GOAWAY frames when the connection is idle", x.status, p.goAway)
	}
	p.conn.Close()
	r.settled()
}

// TestMaxRequests: a connection is drained after its last request.
func TestMaxRequests(t *testing.T) {
	r := start(t, setup{rules: fixed, config: Config{HTTPConfig: exchange.HTTPConfig{MaxRequests: 2}}})
	p := newPeer(t, r.addr)
	for range 2 {
		_, x := p.request("GET", "/", true)
		p.over(x)
		if string(x.body) != "fixed" {
			t.Fatalf("%d %q", x.status, x.body)
		}
	}
	p.closed()
	if len(p.goAway) != 2 || p.last != 3 {
		t.Errorf("GOAWAY %v, last %d; want two, and 3", p.goAway, p.last)
	}
}

// TestHeaderTimeout: a client that does not complete its preface, a frame or a head in time is refused.
func TestHeaderTimeout(t *testing.T) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, sent := range map[string]string{
		"nothing":          "",
		"half a preface":   preface[:10],
		"half a frame":     preface + "\x00\x00\x05\x01\x05\x00\x00\x00\x01\x82",
		"half a head":      preface + "\x00\x00\x01\x01\x01\x00\x00\x00\x01\x82",
		"drip of headers":  preface + "\x00\x00\x01\x01\x01\x00\x00\x00\x01\x82" + "\x00\x00\x01\x09\x00\x00\x00\x00\x01\x86",
		"a frame's header": preface + "\x00\x00\x05",
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, setup{rules: fixed, config: Config{HTTPConfig: exchange.HTTPConfig{HeaderTimeout: proxytest.Brief}}})
			conn, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(proxytest.Patience))
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if err != nil || !bytes.Contains(got, []byte("\x00\x00\x08\x07\x00")) {
				t.Errorf("%x, %v; want GOAWAY and the end", got, err)
			}
			if n := r.refused(traffic.SlowClient); n != 1 {
				t.Errorf("%d slow clients, want 1", n)
			}
		})
	}
	t.Run("a request in time", func(t *testing.T) {
		const inTime = 10 * proxytest.Brief
		r := start(t, setup{rules: fixed, config: Config{HTTPConfig: exchange.HTTPConfig{HeaderTimeout: inTime}}})
		p := newPeer(t, r.addr)
		for range 2 {
			_, x := p.request("GET", "/", true)
			p.over(x)
			time.Sleep(2 * inTime)
		}
		if n := r.refused(traffic.BadRequest); n != 0 {
			t.Errorf("%d bad requests, want none", n)
		}
	})
}

// TestSlowClients: a client that opens no window is reset after the body timeout, and so is one that does not send its body.
func TestSlowClients(t *testing.T) {
	r, m, do := memory(t, setup{config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: proxytest.Brief, BodyRate: -1}}})
	p := newPeer(t, r.addr)
	p.slow = true
	_, x := p.request("GET", "/", true)
	p.flush()
	u := opened(t, m, do, 1)
	do(func() { // the whole response is written: the rest waits for the client only
		u.Respond(&proxytest.ResponseHead{Code: 200, Length: -1})
		u.Data(make([]byte, 100_000))
		u.End(nil)
	})
	p.over(x)
	if x.reset == nil || x.reset.Code != wire.Cancel || x.complete {
		t.Errorf("a response that is not read: complete %v, reset %v", x.complete, x.reset)
	}
	_, x = p.request("POST", "/", false)
	p.over(x)
	if x.status != 408 {
		t.Errorf("a body that does not come: %d, want 408", x.status)
	}
}

// TestRefusedMessages: requests that violate HTTP/2 are counted, and the connection goes on or ends as RFC 9113 says.
func TestRefusedMessages(t *testing.T) {
	r := start(t, setup{rules: fixed, config: Config{MaxFields: 20, MaxHeader: 2000}})
	p := newPeer(t, r.addr)
	_, x := p.request("GET", "/a b", true)
	p.over(x)
	if x.reset == nil || x.reset.Code != wire.ProtocolError {
		t.Errorf("a path with a space: status %d, reset %v", x.status, x.reset)
	}
	_, x = p.request("GET", "/", true, "x-large", strings.Repeat("a", 3000))
	p.over(x)
	if x.status != 431 {
		t.Errorf("a large head: %d, want 431", x.status)
	}
	_, x = p.request("CONNECT", "/", true)
	p.over(x)
	if x.reset == nil {
		t.Errorf("CONNECT with a path: %d", x.status)
	}
	if n := r.refused(traffic.BadRequest); n != 3 {
		t.Errorf("%d bad requests, want 3", n)
	}
	conn := proxytest.Dial(t, r.addr)
	conn.Send("GET / HTTP/1.1\nHost: a\n\n")
	if got, err := io.ReadAll(conn); err != nil || !bytes.Contains(got, []byte("\x00\x00\x08\x07\x00")) {
		t.Errorf("HTTP/1.1 where HTTP/2 is expected: %q, %v; want GOAWAY and the end", got, err)
	}
}

// TestAbuse: a client that misuses the protocol loses its connection, and the reason is counted.
func TestAbuse(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(p *peer)
		want wire.Abuse
	}{
		{"rapid reset", func(p *peer) {
			s, _ := p.request("GET", "/", true)
			s.Reset(wire.Cancel)
		}, wire.AbuseResets},
		{"pings", func(p *peer) { p.h2.Ping() }, wire.AbusePings},
		{"settings", func(p *peer) { p.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00")) }, wire.AbuseSettings},
		{"unknown frames", func(p *peer) { p.Write([]byte("\x00\x00\x00\x77\x00\x00\x00\x00\x00")) }, wire.AbuseIgnoredFrames},
		{"window updates", func(p *peer) { p.Write([]byte("\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x01")) }, wire.AbuseWindows},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, m, do := memory(t, setup{})
			p := newPeer(t, r.addr)
			for i := range 2000 {
				row.do(p)
				if i%50 == 0 {
					p.settle()
				}
				if p.ended != nil || len(p.goAway) > 0 {
					break
				}
			}
			if len(p.goAway) == 0 || p.goAway[0] != wire.EnhanceYourCalm {
				t.Fatalf("GOAWAY %v, want ENHANCE_YOUR_CALM", p.goAway)
			}
			for how, n := range r.Metrics.Snapshot().Listeners[0].Abused {
				if n > 0 != (how == row.want) {
					t.Errorf("%d connections ended because of %v", n, how)
				}
			}
			do(func() {
				for _, u := range m.Opened {
					if !u.Over {
						t.Error("a request of the connection goes on")
						return
					}
				}
			})
		})
	}
}

// TestBothProtocols: the first bytes of a client decide, however they are cut.
func TestBothProtocols(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		var first *http1.Service
		r := start(t, setup{loop: c, rules: fixed, accept: func(s *Service) loop.AcceptFunc {
			first = http1.New(nil, 2)
			return s.AcceptBoth(first.Accept)
		}})
		first.Use(nil, r.plan)
		web := client(t)
		resp, err := web.Get("http://" + r.addr)
		if err != nil || resp.ProtoMajor != 2 || resp.StatusCode != 200 {
			t.Errorf("HTTP/2: %v, %v", resp, err)
		}
		const request = "PRO / HTTP/1.1\r\nHost: a\r\n\r\n" // begins like the preface
		for cut := range len(request) {
			conn := proxytest.Dial(t, r.addr)
			_, _ = io.WriteString(conn, request[:cut])
			if cut > 0 && cut < 4 {
				time.Sleep(time.Millisecond)
			}
			_, _ = io.WriteString(conn, request[cut:])
			if resp, body := conn.ReadResponse("PRO"); resp.StatusCode != 200 || body != "fixed" || resp.ProtoMajor != 1 {
				t.Errorf("cut at %d: %s %d %q", cut, resp.Proto, resp.StatusCode, body)
			}
			conn.Close()
		}
		r.settled(web)
		idle := proxytest.Dial(t, r.addr)
		r.eventually("the client is counted", func() bool { return r.Metrics.Snapshot().Listeners[0].Connections == 1 })
		r.shutdown()
		if _, err := bufio.NewReader(idle).ReadByte(); err != io.EOF {
			t.Errorf("an idle connection ends with %v, want EOF", err)
		}
	})
}

// TestDrainBeforeFirstBytes: a client that has connected and sent nothing when its connection is shut down is served once, in either protocol.
func TestDrainBeforeFirstBytes(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		var first *http1.Service
		r := start(t, setup{loop: c, rules: fixed, accept: func(s *Service) loop.AcceptFunc {
			first = http1.New(nil, 2)
			return s.AcceptBoth(first.Accept)
		}})
		first.Use(nil, r.plan)
		one, two := proxytest.Dial(t, r.addr), newPeer(t, r.addr)
		r.eventually("both clients are counted", func() bool { return r.Metrics.Snapshot().Listeners[0].Connections == 2 })
		r.shutdown()
		one.Send("GET / HTTP/1.1\nHost: a\n\n")
		_, x := two.request("GET", "/", true)
		two.flush()
		if resp, body := one.ReadResponse("GET"); resp.StatusCode != 200 || body != "fixed" || !resp.Close {
			t.Errorf("HTTP/1.1: %d %q, close %v", resp.StatusCode, body, resp.Close)
		}
		one.Ends()
		two.over(x)
		if x.status != 200 || string(x.body) != "fixed" {
			t.Errorf("HTTP/2: %d %q, %v", x.status, x.body, x.reset)
		}
		two.closed()
		if len(two.goAway) == 0 || two.goAway[0] != wire.NoError {
			t.Errorf("GOAWAY %v, want NO_ERROR", two.goAway)
		}
		one.Close()
		_ = two.conn.Close()
		r.settled()
	})
}
