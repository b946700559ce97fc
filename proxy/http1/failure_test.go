package http1

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// silentServer starts a server that reads and never responds.
func silentServer(tb testing.TB) string {
	return proxytest.Script(tb, func(_ net.Conn, r *bufio.Reader) { io.Copy(io.Discard, r) })
}

func TestFailures(t *testing.T) {
	const get = "GET / HTTP/1.1\nHost: a\n\n"
	const put = "PUT / HTTP/1.1\nHost: a\nContent-Length: 10\n\nabc"
	silent := func(t *testing.T) string { return silentServer(t) }
	slow := []route.Rule{{Cluster: "web", Forward: route.Forward{Timeout: brief}}}
	for _, row := range []struct {
		name      string
		server    func(t *testing.T) string
		c         setup
		request   string
		status    int
		keepAlive bool
	}{
		{"connection refused", func(t *testing.T) string { return proxytest.DeadAddr(t) }, setup{}, get, 503, true},
		{"no route", silent, setup{rules: []route.Rule{{Match: route.Match{Path: "/x"}, Cluster: "web"}}}, get, 404, true},
		{"malformed", silent, setup{}, "GET / HTTP/1.1\nHost: a\nContent-Length: x\n\n", 400, false},
		{"two framings", silent, setup{}, "POST / HTTP/1.1\nHost: a\nContent-Length: 3\nTransfer-Encoding: chunked\n\n0\n\n", 400, false},
		{"malformed chunk", silent, setup{}, "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n3\nabc\nx\n", 400, false},
		{"connect", silent, setup{}, "CONNECT a:80 HTTP/1.1\nHost: a:80\n\n", 501, false},
		{"unknown version", silent, setup{}, "GET / HTTP/2.0\nHost: a\n\n", 505, false},
		{"half a head", silent, setup{config: Config{HTTPConfig: exchange.HTTPConfig{HeaderTimeout: brief}}}, "GET / HTTP/1.1\nHo", 408, false},
		{"half a body", silent, setup{config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: brief}}}, put, 408, false},
		{"no response", silent, setup{rules: slow}, get, 504, true},
		{"half a head of a response", func(t *testing.T) string {
			return proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
				if _, err := http.ReadRequest(r); err == nil {
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nConte")
				}
			})
		}, setup{}, get, 502, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				row.c.loop = c
				row.c.servers = []string{row.server(t)}
				conn := start(t, row.c).dial()
				conn.Send(row.request)
				resp, body := conn.ReadResponse("GET")
				if resp.StatusCode != row.status || !strings.Contains(body, http.StatusText(row.status)) {
					t.Errorf("got %d %q, want %d", resp.StatusCode, body, row.status)
				}
				if resp.Close == row.keepAlive {
					t.Errorf("connection closes: %v, want %v", resp.Close, !row.keepAlive)
				}
				if !row.keepAlive {
					conn.Ends()
				}
			})
		})
	}
}

func TestLimits(t *testing.T) {
	for name, limits := range map[string]upstream.Limits{"requests": {Requests: 1}, "waiting": {Connections: 1, Waiting: 1}} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			var served atomic.Int64
			r := start(t, setup{loop: loop.Config{Loops: 1}, cluster: upstream.Config{Limits: limits}, servers: []string{proxytest.ServeHTTP(t,
				func(http.ResponseWriter, *http.Request) {
					served.Add(1)
					<-release
				})}})
			clients := []*proxytest.Client{r.dial(), r.dial(), r.dial()}
			for _, c := range clients {
				c.Send("GET / HTTP/1.1\nHost: a\n\n")
			}
			// One of three requests is at the server, and one may wait. The others are refused immediately.
			statuses := make(chan int, len(clients))
			for _, c := range clients {
				go func() {
					resp, err := http.ReadResponse(c.R, nil)
					if err != nil {
						statuses <- -1
						return
					}
					statuses <- resp.StatusCode
				}()
			}
			if got := <-statuses; got != 503 {
				t.Errorf("first response is %d, want 503", got)
			}
			close(release)
			counts := map[int]int{503: 1}
			for range len(clients) - 1 {
				counts[<-statuses]++
			}
			want := 1
			if name == "waiting" {
				want = 2
			}
			if counts[200] != want || counts[503] != len(clients)-want || served.Load() != int64(want) {
				t.Errorf("got responses %v, %d served; want %d of 200 and the rest 503", counts, served.Load(), want)
			}
		})
	}
}

// readTruncated reads a response that is cut short. The client must be able to detect the truncation.
func readTruncated(c *proxytest.Client) {
	c.TB.Helper()
	resp, err := http.ReadResponse(c.R, nil)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
	}
	if err == nil {
		c.TB.Fatal("a truncated response counts as complete")
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.TB.Fatalf("a truncated response ended with %v", err)
	}
}

func TestServerDiesWithinAResponse(t *testing.T) {
	for name, head := range map[string]string{
		"length":      "Content-Length: 1000\n",
		"chunked":     "Transfer-Encoding: chunked\n",
		"until close": "",
	} {
		t.Run(name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				begun := make(chan struct{})
				r := start(t, setup{loop: c, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\n"+head+"\n64\nabc"))
					if head == "" {
						select { // a reset would discard bytes that are not read yet
						case <-begun:
						case <-t.Context().Done():
						}
						conn.(*net.TCPConn).SetLinger(0)
					}
				})}})
				conn := r.dial()
				conn.Send("GET / HTTP/1.1\nHost: a\n\n")
				if head == "" {
					// The body ends with the connection, so only a reset shows that the body is incomplete.
					_, err := conn.R.Peek(1)
					close(begun)
					if err == nil {
						_, err = io.ReadAll(conn.R)
					}
					if !errors.Is(err, syscall.ECONNRESET) {
						t.Fatalf("got %v, want a reset", err)
					}
					return
				}
				readTruncated(conn)
			})
		})
	}
}

func TestResponseStalls(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: brief}}, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\nContent-Length: 1000\n\nabc"))
			io.Copy(io.Discard, r)
		})}})
		conn := r.dial()
		conn.Send("GET / HTTP/1.1\nHost: a\n\n")
		readTruncated(conn)
	})
}

func TestIdleTimeout(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		slow := setup{loop: c, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}}
		r := start(t, slow)
		used := r.dial()
		used.Send("GET / HTTP/1.1\nHost: a\n\n")
		used.ReadResponse("GET")
		quick := slow
		quick.config.IdleTimeout = brief
		r.use(quick) // applied now, so that used is not closed before its request
		used.Send("GET / HTTP/1.1\nHost: a\n\n")
		if resp, _ := used.ReadResponse("GET"); resp.StatusCode != 200 {
			t.Errorf("status %d", resp.StatusCode)
		}
		used.Ends()
		r.dial().Ends()
	})
}

// TestWaiting makes requests wait for the only connection to the server until their timeout.
func TestWaiting(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.Loops = 1
		one := upstream.Config{Limits: upstream.Limits{Connections: 1}}
		hold := make(chan struct{})
		asked := make(chan string, 10)
		rules := []route.Rule{
			{Match: route.Match{Path: "/brief"}, Cluster: "web", Forward: route.Forward{Timeout: brief}},
			{Cluster: "web"},
		}
		r := start(t, setup{loop: c, cluster: one, rules: rules, servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.Path
			if r.URL.Path == "/hold" {
				<-hold
			}
			proxytest.EchoHTTP(w, r)
		})}})
		first, second, third := r.dial(), r.dial(), r.dial()
		first.Send("GET /hold HTTP/1.1\nHost: a\n\n")
		<-asked
		second.Send("POST /patient HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi")
		third.Send("GET /brief HTTP/1.1\nHost: a\n\n")
		if resp, _ := third.ReadResponse("GET"); resp.StatusCode != 503 {
			t.Errorf("status %d, want 503", resp.StatusCode)
		}
		close(hold)
		first.ReadResponse("GET")
		if resp, body := second.ReadResponse("POST"); resp.StatusCode != 200 || body != "hi" {
			t.Errorf("got %d %q", resp.StatusCode, body)
		}
		if got := <-asked; got != "/patient" {
			t.Errorf("server was asked for %s, want /patient", got)
		}
		if sum, _ := r.Group.Stats(); sum.Dialed != 1 {
			t.Errorf("%d connections were dialled, want 1", sum.Dialed)
		}
	})
}

// TestWaiterLeaves closes a client whose request waits for a connection.
func TestWaiterLeaves(t *testing.T) {
	hold := make(chan struct{})
	asked := make(chan struct{}, 10)
	r := start(t, setup{loop: loop.Config{Loops: 1}, cluster: upstream.Config{Limits: upstream.Limits{Connections: 1}}, servers: []string{
		proxytest.ServeHTTP(t, func(http.ResponseWriter, *http.Request) {
			asked <- struct{}{}
			<-hold
		}),
	}})
	first, second := r.dial(), r.dial()
	first.Send("GET / HTTP/1.1\nHost: a\n\n")
	<-asked
	second.Send("GET / HTTP/1.1\nHost: a\n\n")
	second.Conn.(*net.TCPConn).SetLinger(0)
	second.Close()
	for { // until the proxy has noticed
		if sum, _ := r.Group.Stats(); sum.Accepted == 2 && sum.Closed == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(hold)
	first.ReadResponse("GET")
	first.Send("GET / HTTP/1.1\nHost: a\n\n")
	first.ReadResponse("GET")
	if n := len(asked); n != 1 {
		t.Errorf("server was asked %d more times, want 1", n)
	}
}

// TestPools checks that the pool closes connections that are unused or whose cluster is closed.
func TestPools(t *testing.T) {
	for name, end := range map[string]func(r *rig, web *upstream.Cluster){
		"unused":         func(*rig, *upstream.Cluster) {},
		"cluster closed": func(_ *rig, web *upstream.Cluster) { web.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := setup{servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}}
			if name == "unused" {
				c.cluster.IdleTimeout = brief
			}
			r := start(t, c)
			conn := r.dial()
			conn.Send("GET / HTTP/1.1\nHost: a\n\n")
			conn.ReadResponse("GET")
			end(r, r.service.current.Load().plan.Clusters[0])
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				sum, _ := r.Group.Stats()
				if sum.Closed == sum.Dialed {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d connections were dialled and %d closed", sum.Dialed, sum.Closed)
				}
			}
		})
	}
}

// TestServerClosesIdle has a server close each connection when the second request arrives on it. The client must not
// notice.
func TestServerClosesIdle(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		var served atomic.Int64
		r := start(t, setup{loop: c, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			for i := range 2 {
				if _, err := http.ReadRequest(r); err != nil || i == 1 {
					return
				}
				served.Add(1)
				io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"))
			}
		})}})
		conn := r.dial()
		for range 20 {
			conn.Send("GET / HTTP/1.1\nHost: a\n\n")
			if resp, body := conn.ReadResponse("GET"); resp.StatusCode != 200 || body != "hi" {
				t.Fatalf("got %d %q", resp.StatusCode, body)
			}
		}
		if n := served.Load(); n != 20 {
			t.Errorf("server responded to %d requests, want 20", n)
		}
		// A request that is not idempotent is not sent twice.
		conn.Send("POST / HTTP/1.1\nHost: a\nContent-Length: 1\n\nx")
		if resp, _ := conn.ReadResponse("POST"); resp.StatusCode != 502 {
			t.Errorf("status %d, want 502", resp.StatusCode)
		}
	})
}

func TestClientLeaves(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		left := make(chan error, 1)
		r := start(t, setup{loop: c, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			if _, err := http.ReadRequest(r); err == nil {
				left <- nil
				_, err := r.ReadByte()
				left <- err
			}
		})}})
		conn := r.dial()
		conn.Send("GET / HTTP/1.1\nHost: a\n\n")
		<-left
		conn.Conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		if err := <-left; err == nil {
			t.Error("server got a byte, want the end of the connection")
		}
	})
}

func TestClientEndsItsSide(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}})
		conn := r.dial()
		conn.Send("GET /1 HTTP/1.1\nHost: a\n\nGET /2 HTTP/1.1\nHost: a\n\nGET /3 HT")
		if err := conn.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"GET a /1", "GET a /2"} {
			if resp, _ := conn.ReadResponse("GET"); resp.Header.Get("X-Seen") != want {
				t.Errorf("server saw %q, want %q", resp.Header.Get("X-Seen"), want)
			}
		}
		if n, err := conn.R.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("got %d bytes and error %v, want the end", n, err)
		}
	})
}

func TestEarlyResponse(t *testing.T) {
	refuses := func(t *testing.T) string {
		return proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				if req.URL.Path == "/late" {
					io.Copy(io.Discard, req.Body)
				}
				io.WriteString(conn, proxytest.CRLF("HTTP/1.1 403 Forbidden\nContent-Length: 2\n\nno"))
				if req.URL.Path != "/late" {
					io.Copy(io.Discard, r)
				}
			}
		})
	}
	for _, row := range []struct {
		name      string
		size      int
		keepAlive bool
	}{{"small", 1000, true}, {"large", 10 << 20, false}} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				conn := start(t, setup{loop: c, servers: []string{refuses(t)}}).dial()
				conn.Send("POST /early HTTP/1.1\nHost: a\nContent-Length: " + strconv.Itoa(row.size) + "\n\nabc")
				resp, body := conn.ReadResponse("POST")
				if resp.StatusCode != 403 || body != "no" || resp.Close == row.keepAlive {
					t.Fatalf("got %d %q, closes %v", resp.StatusCode, body, resp.Close)
				}
				if !row.keepAlive {
					conn.Ends()
					return
				}
				conn.Send(strings.Repeat("x", row.size-3) + "GET /late HTTP/1.1\nHost: a\n\n")
				if resp, _ := conn.ReadResponse("GET"); resp.StatusCode != 403 {
					t.Errorf("second response: %d", resp.StatusCode)
				}
			})
		})
	}
}
