package http1

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// randomServer starts a server with random behavior. It responds with a length, in chunks, before the request is
// complete, or after an interim response. It closes or resets the connection before, during or after a response.
func randomServer(tb testing.TB) string {
	return proxytest.Script(tb, func(conn net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			early := rand.IntN(10) == 0
			if !early {
				if _, err := io.Copy(io.Discard, req.Body); err != nil {
					return
				}
			}
			id := req.URL.Path
			switch rand.IntN(10) {
			case 0:
				return
			case 1:
				conn.(*net.TCPConn).SetLinger(0)
				return
			case 2:
				io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\nContent-Length: 1000\n\n"+id))
				return
			case 3:
				io.WriteString(conn, proxytest.CRLF("HTTP/1.1 102 Processing\n\nHTTP/1.1 503 Service Unavailable\nContent-Length: 0\n\n"))
			case 4:
				io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\n\n"+id)) // the body ends with the connection
				return
			case 5, 6:
				io.WriteString(conn, proxytest.CRLF(fmt.Sprintf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n%x\n%s\n0\n\n", len(id), id)))
			default:
				io.WriteString(conn, proxytest.CRLF(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(id), id)))
			}
			if early || rand.IntN(10) == 0 {
				return
			}
		}
	})
}

// TestChaos connects random clients to random servers while plans change. Each response must belong to its request.
// At the end, no connection, request or buffer may be left.
func TestChaos(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		cfg := setup{
			loop: c, config: Config{HTTPConfig: exchange.HTTPConfig{MaxRequests: 20, ForwardedFor: true}},
			cluster: upstream.Config{IdleTimeout: brief, Limits: upstream.Limits{Connections: 8}},
			servers: []string{randomServer(t), randomServer(t)},
			rules: []route.Rule{{
				Match:   route.Match{Headers: []route.Header{{Name: "X-Retry"}}},
				Cluster: "web", Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnReset, route.On5xx}, Idempotent: true}},
			}, {
				Match:   route.Match{Payload: &route.Payload{Format: "json", Where: "a > 1"}},
				Respond: &route.Response{Status: 200, Body: "local"},
			}, {Cluster: "web"}},
		}
		r := start(t, cfg)
		var responded atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for j := range 20 {
					conn, err := net.Dial("tcp", r.addr)
					if err != nil {
						t.Error(err)
						return
					}
					conn.SetDeadline(time.Now().Add(patience))
					ids := sendRandomRequests(conn, fmt.Sprintf("%d-%d", i, j))
					br := bufio.NewReader(conn)
					for _, id := range ids {
						resp, err := http.ReadResponse(br, nil)
						for err == nil && resp.StatusCode < 200 {
							resp, err = http.ReadResponse(br, nil)
						}
						if err != nil {
							break
						}
						body, err := io.ReadAll(resp.Body)
						if err != nil {
							break
						}
						responded.Add(1)
						if resp.StatusCode == 200 && string(body) != id && string(body) != "local" {
							t.Errorf("request %s got the response %q", id, body)
						}
					}
					conn.Close()
				}
			})
		}
		over := make(chan bool)
		go func() {
			wg.Wait()
			close(over)
		}()
		current := func() *upstream.Cluster { return r.service.current.Load().plan.Clusters[0] }
		all := []*upstream.Cluster{current()}
		for swapping := true; swapping; {
			select {
			case <-over:
				swapping = false
			case <-time.After(20 * time.Millisecond):
				r.use(cfg)
				all[len(all)-1].Close()
				all = append(all, current())
			}
		}
		if responded.Load() == 0 {
			t.Error("no response came")
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			sum, _ := r.Group.Stats()
			left := int64(sum.Conns + sum.Queues + sum.Unread)
			for _, web := range all {
				up := web.Snapshot()
				left += up.Active + up.Waiting
				for _, e := range up.Endpoints {
					left += e.Active + e.Conns
				}
			}
			for _, l := range r.Metrics.Snapshot().Listeners {
				left += int64(l.Connections)
			}
			if left == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("left behind: %+v, %+v", sum, all[len(all)-1].Snapshot())
			}
		}
	})
}

// sendRandomRequests sends up to five requests in one write and returns their paths. The last request may be
// incomplete.
func sendRandomRequests(conn net.Conn, name string) (ids []string) {
	var text strings.Builder
	for k := range 1 + rand.IntN(5) {
		id := fmt.Sprintf("/%s-%d", name, k)
		ids = append(ids, id)
		method := []string{"GET", "POST", "PUT"}[rand.IntN(3)]
		fmt.Fprintf(&text, "%s %s HTTP/1.1\nHost: a\n", method, id)
		if rand.IntN(2) == 0 {
			text.WriteString("X-Retry: 1\n")
		}
		body := `{"a":` + fmt.Sprint(rand.IntN(3)) + "}" + strings.Repeat(" ", rand.IntN(3000))
		switch {
		case method == "GET":
			text.WriteString("\n")
		case rand.IntN(2) == 0:
			fmt.Fprintf(&text, "Content-Length: %d\n\n%s", len(body), body)
		default:
			fmt.Fprintf(&text, "Transfer-Encoding: chunked\n\n%x\n%s\n0\n\n", len(body), body)
		}
	}
	raw := proxytest.CRLF(text.String())
	switch rand.IntN(8) {
	case 0: // closes within a request
		raw = raw[:rand.IntN(len(raw))]
		io.WriteString(conn, raw)
		conn.(*net.TCPConn).CloseWrite()
	case 1: // resets within a request
		io.WriteString(conn, raw[:rand.IntN(len(raw))])
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	case 2:
		cut := rand.IntN(len(raw))
		io.WriteString(conn, raw[:cut])
		time.Sleep(time.Millisecond)
		io.WriteString(conn, raw[cut:])
	default:
		io.WriteString(conn, raw)
	}
	return ids
}
