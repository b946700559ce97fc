package http1

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// TestLargeBodies sends a request body to a slow server, and a response body to a slow client. Both are larger than
// the proxy's buffers.
func TestLargeBodies(t *testing.T) {
	const size = 64 << 20
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.Loops, c.HighWater = 1, 128<<10
		begin := make(chan struct{}, 1)
		r := start(t, setup{loop: c, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			<-begin
			sum := sha256.New()
			if n, err := io.Copy(sum, req.Body); err != nil || n != size {
				t.Errorf("server got %d bytes, %v", n, err)
			}
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX-Sum: %x\r\nContent-Length: %d\r\n\r\n", sum.Sum(nil), size)
			io.CopyN(conn, rand.NewChaCha8([32]byte{2}), size)
		})}})
		// held waits until no byte moves. It then checks the number of bytes in the proxy's buffers: at most two full
		// queues and one read.
		held := func(when string, least, most int64) {
			t.Helper()
			for last, late := int64(-1), time.Now().Add(patience); ; {
				sum, _ := r.Group.Stats()
				// Until the kernel's buffers are full. On a busy machine it is the sender that pauses: then no byte is queued.
				if moved := sum.BytesIn + sum.BytesOut; (moved != last || sum.Queues == 0) && time.Now().Before(late) {
					last = moved
					time.Sleep(brief)
					continue
				}
				if sum.Queues == 0 || sum.Queues*(32<<10) > 2*(c.HighWater+256<<10) {
					t.Errorf("%s: %d buffers of 32 KiB are in use", when, sum.Queues)
				}
				if sum.BytesIn <= least || sum.BytesIn >= most {
					t.Errorf("%s: the proxy has read %d bytes, want more than %d and less than %d", when, sum.BytesIn, least, most)
				}
				return
			}
		}
		conn := r.dial()
		sent := make(chan [32]byte, 1)
		go func() {
			sum := sha256.New()
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size)
			io.CopyN(io.MultiWriter(conn, sum), rand.NewChaCha8([32]byte{1}), size)
			sent <- [32]byte(sum.Sum(nil))
		}()
		held("server does not read", 0, size)
		begin <- struct{}{}
		resp, err := http.ReadResponse(conn.R, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := resp.Header.Get("X-Sum"), fmt.Sprintf("%x", <-sent); got != want {
			t.Errorf("server got other bytes than were sent")
		}
		held("client does not read", size, 2*size)
		got, want := sha256.New(), sha256.New()
		if n, err := io.Copy(got, resp.Body); err != nil || n != size {
			t.Fatalf("got %d bytes, %v", n, err)
		}
		io.CopyN(want, rand.NewChaCha8([32]byte{2}), size)
		if string(got.Sum(nil)) != string(want.Sum(nil)) {
			t.Error("client got other bytes than were sent")
		}
	})
}

// TestLastResponseIsRead has a client read its last response long after the proxy has queued the response.
func TestLastResponseIsRead(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.Loops, c.CloseTimeout = 1, brief
		body := make([]byte, 8<<20)
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })}})
		conn := r.dial()
		conn.Send("GET / HTTP/1.0\n\n")
		for last := int64(-1); ; {
			sum, _ := r.Group.Stats()
			if sum.BytesOut == last && last > 0 {
				break
			}
			last = sum.BytesOut
			time.Sleep(4 * brief)
		}
		if _, got := conn.ReadResponse("GET"); len(got) != len(body) {
			t.Errorf("got %d bytes, want %d", len(got), len(body))
		}
	})
}

// ask sends requests over several connections until stop is closed. Each request must get its response. A connection
// may be closed only after a response that announces it.
func ask(t *testing.T, addr string, stop <-chan struct{}) *sync.WaitGroup {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			tr := &http.Transport{DisableCompression: true}
			defer tr.CloseIdleConnections()
			client := &http.Client{Transport: tr, Timeout: patience}
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				body := fmt.Sprintf("%d-%d", i, n)
				resp, err := client.Post("http://"+addr+"/", "text/plain", strings.NewReader(body))
				if err != nil {
					t.Errorf("request %s: %v", body, err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || string(got) != body {
					t.Errorf("request %s: got %d %q, %v", body, resp.StatusCode, got, err)
					return
				}
			}
		})
	}
	return &wg
}

func TestUseUnderLoad(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		servers := []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP), proxytest.ServeHTTP(t, proxytest.EchoHTTP)}
		first := setup{loop: c, servers: servers[:1]}
		r := start(t, first)
		stop := make(chan struct{})
		wg := ask(t, r.addr, stop)
		for i := range 50 {
			time.Sleep(time.Millisecond)
			r.use(setup{
				servers: servers[i%2 : i%2+1], config: Config{HTTPConfig: exchange.HTTPConfig{Via: fmt.Sprintf("v%d", i)}},
				rules: []route.Rule{{Name: fmt.Sprint(i), Cluster: "web"}},
			})
		}
		close(stop)
		wg.Wait()
	})
}

// TestShutdownUnderLoad shuts down while every connection has a request in flight. Each request gets a complete
// response.
func TestShutdownUnderLoad(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		slow := make(chan struct{})
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			<-slow
			proxytest.EchoHTTP(w, r)
		})}})
		var clients []*proxytest.Client
		for i := range 20 {
			conn := r.dial()
			conn.Send(fmt.Sprintf("POST / HTTP/1.1\nHost: a\nContent-Length: 2\n\n%02d", i))
			clients = append(clients, conn)
		}
		idle := r.dial()
		for { // until the proxy has read all requests
			sum, _ := r.Group.Stats()
			if sum.Dialed >= int64(len(clients)) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			done <- r.Group.Shutdown(ctx)
		}()
		idle.Ends()
		close(slow)
		for i, conn := range clients {
			resp, body := conn.ReadResponse("POST")
			if resp.StatusCode != 200 || body != fmt.Sprintf("%02d", i) || !resp.Close {
				t.Errorf("client %d got %d %q, closes %v", i, resp.StatusCode, body, resp.Close)
			}
			conn.Ends()
			conn.Close()
		}
		idle.Close()
		if err := <-done; err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

// TestDrain closes the clients of one service, as a removed listener does. Clients of another service on the same
// loops stay connected.
func TestDrain(t *testing.T) {
	r := start(t, setup{servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}})
	other := New(nil, 2)
	other.Use(nil, r.plan(setup{servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}}))
	ln, err := r.Group.Listen(anyPort, other.Accept)
	if err != nil {
		t.Fatal(err)
	}
	leaves, stays := r.dial(), proxytest.Dial(t, ln.Addr().String())
	for _, c := range []*proxytest.Client{leaves, stays} {
		c.Send("GET / HTTP/1.1\nHost: a\n\n")
		c.ReadResponse("GET")
	}
	for _, l := range r.Group.Loops() {
		if err := l.Post(func() {
			for c, h := range l.All() {
				if r.service.Owns(h) {
					h.(loop.Shutdowner).Shutdown(c)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	leaves.Ends()
	stays.Send("GET / HTTP/1.1\nHost: a\n\n")
	if resp, _ := stays.ReadResponse("GET"); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestSlowloris has many clients send heads that never end. Meanwhile another client sends requests.
func TestSlowloris(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	r := start(t, setup{config: Config{HTTPConfig: exchange.HTTPConfig{HeaderTimeout: time.Second}}, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}})
	slow := make([]*proxytest.Client, n)
	for i := range slow {
		slow[i] = r.dial()
		slow[i].Send("GET / HTTP/1.1\nHost: a\nX-")
	}
	honest := r.dial()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // further bytes must not extend the timeout
		for {
			for _, c := range slow {
				select {
				case <-stop:
					return
				default:
					c.Write([]byte("a"))
				}
			}
		}
	})
	for range 100 {
		honest.Send("GET / HTTP/1.1\nHost: a\n\n")
		if resp, _ := honest.ReadResponse("GET"); resp.StatusCode != 200 {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	for i, c := range slow {
		resp, err := http.ReadResponse(c.R, nil)
		if err != nil || resp.StatusCode != http.StatusRequestTimeout {
			t.Fatalf("client %d: got %v, %v; want 408", i, resp, err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestIdleCost checks that an idle connection has no object of its own after a request.
func TestIdleCost(t *testing.T) {
	r := start(t, setup{loop: loop.Config{Loops: 1}, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}})
	const n = 200
	for range n {
		c := r.dial()
		c.Send("GET / HTTP/1.1\nHost: a\n\n")
		c.ReadResponse("GET")
	}
	seen := make(chan string, 1)
	if err := r.Group.Loops()[0].Post(func() {
		sh := r.service.loops[0]
		idle := 0
		for _, h := range r.Group.Loops()[0].All() {
			if h == loop.Handler(sh.idle) {
				idle++
			}
		}
		seen <- fmt.Sprintf("%d idle, %d sessions, %d visits", idle, sh.free.Len(), len(sh.connInfos))
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := <-seen, fmt.Sprintf("%d idle, 1 sessions, 0 visits", n); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
