package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// mute starts a server that responds only to an upgrade.
func mute(t *testing.T) string {
	t.Helper()
	return serve(t, func(c net.Conn) {
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if bytes.Contains(buf[:n], []byte("Upgrade:")) {
				io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello")
			}
		}
	})
}

// A listener and its clusters are removed while its clients are in every kind of state. Each client's request ends,
// and no connection is left.
func TestListenerRemovedWhateverItsClientsDo(t *testing.T) {
	t.Parallel()
	const brief = 200 * time.Millisecond
	one := wire.Message{Dialect: wire.V1, Type: wire.Request, Command: wire.CommandRequest, ID: 7, Class: "a.B"}
	frame, _ := wire.Append(nil, one)
	one.Content = make([]byte, 200<<10)
	large, _ := wire.Append(nil, one)
	crlf := func(text string) []byte { return []byte(strings.ReplaceAll(text, "\n", "\r\n")) }
	post := crlf("POST / HTTP/1.1\nHost: a\nContent-Length: 100000\n\nbegun")
	phases := map[Protocol][][]byte{
		HTTP1: {
			nil, crlf("GET"), post, append(post, make([]byte, 100000)...), crlf("GET / HTTP/1.1\nHost: a\n\n"),
			crlf(strings.Repeat("GET / HTTP/1.1\nHost: a\n\n", 5)),
			crlf("GET / HTTP/1.1\nHost: a\nConnection: upgrade\nUpgrade: websocket\n\n"),
		},
		Bolt: {nil, frame[:5], frame, bytes.Repeat(frame, 10), large[:100], large[:100<<10], large},
	}
	for _, goroutines := range []bool{false, true} {
		t.Run(fmt.Sprintf("goroutines=%v", goroutines), func(t *testing.T) {
			t.Parallel()
			forward := route.Forward{Timeout: brief, Retry: &route.Retry{On: []route.Cause{route.OnTimeout, route.OnReset}, Idempotent: true, Attempts: 3}}
			limited := func(name string) upstream.Config {
				c := cluster1(name, mute(t), mute(t))
				c.Limits.Connections = 2 // so that some requests have to wait
				return c
			}
			cfg := &Config{
				Goroutines: goroutines,
				Listeners: []Listener{
					{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Routes: []route.Rule{{Cluster: "c", Forward: forward}}, HTTP1: http1.Config{HTTPConfig: exchange.HTTPConfig{HeaderTimeout: brief, BodyTimeout: brief}}},
					{Name: "rpc", Address: "127.0.0.1:0", Protocol: Bolt, Routes: []route.Rule{{Cluster: "d", Forward: forward}}, Bolt: bolt.Config{FrameTimeout: brief, Requests: 4}},
				},
				Clusters: []upstream.Config{limited("c"), limited("d")},
			}
			p := start(t, cfg)
			clusters := []*upstream.Cluster{p.parts.clusters["c"].Cluster, p.parts.clusters["d"].Cluster}
			var clients []net.Conn
			for range 5 {
				for i, l := range cfg.Listeners {
					for _, said := range phases[l.Protocol] {
						c, err := net.Dial("tcp", at(p, i))
						if err != nil {
							t.Fatal(err)
						}
						defer c.Close()
						clients = append(clients, c)
						if _, err := c.Write(said); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			time.Sleep(brief / 4) // so that most requests have started; the result does not depend on it
			err := p.Reload(&Config{
				Loops: 2, Goroutines: goroutines,
				Listeners: []Listener{{Name: "other", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "other"}},
				Clusters:  []upstream.Config{cluster1("other", "127.0.0.1:1")},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range clients {
				_ = c.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
					t.Error("a connection stays open")
				}
			}
			var left string
			for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
				left = ""
				for _, l := range p.Snapshot().Loops {
					if l.Conns+l.Queues+l.Unread > 0 {
						left += fmt.Sprintf("\n%+v", l)
					}
				}
				for _, c := range clusters {
					s := c.Snapshot()
					n := s.Active + s.Waiting
					for _, e := range s.Endpoints {
						n += e.Conns + e.Active
					}
					if n != 0 {
						left += fmt.Sprintf("\n%+v", s)
					}
				}
				if left == "" {
					return
				}
				if time.Since(began) > 20*time.Second {
					t.Fatal("left behind:" + left)
				}
			}
		})
	}
}

// TestListenerRemovedServesALateRequest: a request that is on its way when the listener of its connection is removed is served. The
// client of a POST would not send it again.
func TestListenerRemovedServesALateRequest(t *testing.T) {
	t.Parallel()
	cfg := func(listeners ...string) *Config {
		c := &Config{Loops: 2, Clusters: []upstream.Config{cluster1("c", web(t, "a", 0))}}
		for _, name := range listeners {
			c.Listeners = append(c.Listeners, Listener{Name: name, Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "c"})
		}
		return c
	}
	p := start(t, cfg("stays", "goes"))
	c, in := dialPlain(t, at(p, 1))
	post := func() (*http.Response, error) {
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(in, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		return r, err
	}
	if _, err := post(); err != nil {
		t.Fatal(err)
	}
	if err := p.Reload(cfg("stays")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // a round trip
	r, err := post()
	if err != nil || r.StatusCode != 200 || !r.Close {
		t.Errorf("got %+v, %v; want a response that ends the connection", r, err)
	}
}
