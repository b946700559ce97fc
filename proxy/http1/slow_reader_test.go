package http1

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
)

// onLoop calls f on the loop with the only client connection and its handler.
func onLoop[T any](r *rig, f func(c *loop.Conn, h loop.Handler) T) T {
	r.TB.Helper()
	r.eventually("the client is accepted", func() bool { sum, _ := r.Group.Stats(); return sum.Accepted > 0 })
	got := make(chan T, 1)
	l := r.Group.Loops()[0]
	if err := l.Post(func() {
		for c, h := range l.All() {
			if r.service.Owns(h) {
				got <- f(c, h)
				return
			}
		}
		close(got)
	}); err != nil {
		r.TB.Fatal(err)
	}
	v, ok := <-got
	if !ok {
		r.TB.Fatal("the client's connection is closed")
	}
	return v
}

// TestSlowReader has a client read its response in pieces. Between two pieces, the timers of the connection expire.
// The client must get every byte, whether the proxy keeps the connection open after the response or closes it.
func TestSlowReader(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	for _, row := range []struct {
		name, request string
		timers        []int // timers that are set after a response
	}{
		{"kept", "GET / HTTP/1.1\nHost: a\n\n", []int{idleTimer}},
		{"closing", "GET / HTTP/1.1\nHost: a\nConnection: close\n\n", []int{idleTimer, moveTimer}},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				c.Loops, c.HighWater = 1, 1<<30 // so that the proxy queues the whole response
				c.CloseTimeout = brief
				r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })}})
				conn := r.dialSlow()
				conn.Send(row.request)
				r.eventually("the response is queued and its request over", func() bool {
					return onLoop(r, func(c *loop.Conn, h loop.Handler) bool {
						_, busy := h.(*downstreamSide)
						return !busy && c.Queued() > 0
					})
				})
				resp, err := http.ReadResponse(conn.R, nil)
				if err != nil {
					t.Fatal(err)
				}
				var got []byte
				for range 3 {
					before := onLoop(r, func(c *loop.Conn, _ loop.Handler) int { return c.Unsent() })
					piece := make([]byte, 1<<20)
					if _, err := io.ReadFull(resp.Body, piece); err != nil {
						t.Fatal(err)
					}
					got = append(got, piece...)
					r.eventually("the client's bytes are acknowledged", func() bool {
						return onLoop(r, func(c *loop.Conn, _ loop.Handler) bool { return c.Unsent() < before })
					})
					onLoop(r, func(c *loop.Conn, h loop.Handler) bool {
						for _, which := range row.timers {
							h.Timer(c, which)
						}
						return true
					})
					time.Sleep(4 * brief) // longer than the timeouts of a closing connection
				}
				rest, err := io.ReadAll(resp.Body)
				if err != nil || !bytes.Equal(append(got, rest...), body) {
					t.Fatalf("got %d bytes of %d, %v", len(got)+len(rest), len(body), err)
				}
			})
		})
	}
}

// The proxy closes the connection of a client that stops reading the response.
func TestReaderThatStops(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.Loops, c.HighWater, c.CloseTimeout = 1, 64<<20, brief
		r := start(t, setup{
			loop: c, config: Config{HTTPConfig: exchange.HTTPConfig{IdleTimeout: brief, BodyTimeout: brief}},
			servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 16<<20)) })},
		})
		r.dialSlow().Send("GET / HTTP/1.1\nHost: a\n\n")
		r.eventually("the connection is closed", func() bool {
			sum, _ := r.Group.Stats()
			return sum.Accepted == 1 && sum.Conns <= 1 // the server's connection may stay open
		})
	})
}
