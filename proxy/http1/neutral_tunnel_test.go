package http1

import (
	"io"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
)

// TestTunnelToAnotherProtocol: a client of HTTP/1.1 gets a tunnel to a server of another protocol, whether or not the request
// has to wait for a connection.
func TestTunnelToAnotherProtocol(t *testing.T) {
	const request = "GET /chat HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\n"
	const accepted = "HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\nX-A: 1\n\nhello"
	for _, waits := range []bool{false, true} {
		proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
			c.Loops = 1
			cfg := setup{loop: c, servers: []string{proxytest.DeadAddr(t)}}
			r := start(t, cfg)
			m := &proxytest.Connector{TB: t, Wait: waits}
			p := r.plan(cfg)
			p.Connectors = []exchange.Connector{m}
			r.service.Use(nil, p)
			do := func(f func()) {
				t.Helper()
				proxytest.OnLoop(t, r.Group.Loops()[0], func() bool { f(); return true })
			}
			opened := func(n int) (u *proxytest.Upstream) {
				t.Helper()
				r.eventually("the request reaches the server", func() bool {
					do(func() {
						if len(m.Opened) == n {
							u = m.Opened[n-1]
						}
					})
					return u != nil
				})
				return u
			}
			conn := r.dial()
			conn.Send(request)
			u := opened(1)
			do(func() {
				if waits {
					u.Connect()
				}
				if !u.Begun || u.Whole || u.Path != "/chat" {
					t.Errorf("the server got %+v", u)
				}
				u.Respond(&proxytest.ResponseHead{Code: 200, Length: -1, Fields: proxytest.Fields{{Name: "X-A", Value: "1"}}})
				u.Data([]byte("hello"))
			})
			got := make([]byte, len(proxytest.CRLF(accepted)))
			if _, err := io.ReadFull(conn.R, got); err != nil || string(got) != proxytest.CRLF(accepted) {
				t.Fatalf("%q, %v; want %q", got, err, accepted)
			}
			conn.Send("bytes")
			r.eventually("the bytes arrive", func() (is bool) { do(func() { is = u.Body.String() == "bytes" }); return is })
			if err := conn.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			r.eventually("the end arrives", func() (is bool) { do(func() { is = u.Whole }); return is })
			do(func() { u.Data([]byte("!")); u.End(nil) })
			if rest, err := io.ReadAll(conn.R); err != nil || string(rest) != "!" {
				t.Errorf("%q, %v; want the last byte and the end", rest, err)
			}

			refused := r.dial()
			refused.Send(request)
			u = opened(2)
			do(func() {
				if waits {
					u.Connect()
				}
				u.Respond(&proxytest.ResponseHead{Code: 403, Length: 2})
				u.Data([]byte("no"))
				u.End(nil)
			})
			if resp, body := refused.ReadResponse("GET"); resp.StatusCode != 403 || body != "no" {
				t.Errorf("%d %q, want 403", resp.StatusCode, body)
			}
		})
	}
}
