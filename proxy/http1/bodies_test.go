package http1

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// content returns n bytes that depend on seed.
func content(seed uint64, n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(p)
	return p
}

// writeInPieces writes p in pieces of random sizes.
func writeInPieces(rng *rand.Rand, w io.Writer, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), 1+rng.IntN(1<<(6+rng.IntN(13))))
		if _, err := w.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// bodyServer responds with the content that the path names by seed and length, in random pieces. Its field Sum is the hash of the request's
// body. For a path that begins with /cut it closes the connection in the middle of the response.
func bodyServer(tb testing.TB) string {
	return proxytest.Script(tb, func(conn net.Conn, r *bufio.Reader) {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			hash := sha256.New()
			if _, err := io.Copy(hash, req.Body); err != nil {
				return
			}
			parts := strings.Split(req.URL.Path, "/") // "", kind, seed, length
			seed, _ := strconv.ParseUint(parts[2], 10, 64)
			length, _ := strconv.Atoi(parts[3])
			head := fmt.Sprintf("HTTP/1.1 200 OK\nSum: %x\nContent-Length: %d\n\n", hash.Sum(nil), length)
			body := content(seed, length)
			if parts[1] == "cut" {
				body = body[:length/2]
			}
			if writeInPieces(rng, conn, append([]byte(proxytest.CRLF(head)), body...)) != nil || parts[1] == "cut" {
				return
			}
		}
	})
}

// bodySize returns a random size, often near a limit of the code.
func bodySize(rng *rand.Rand) int {
	switch rng.IntN(5) {
	case 0:
		return rng.IntN(100)
	case 1:
		return leastSplice - 2 + rng.IntN(4)
	case 2:
		return 64<<10 - 2 + rng.IntN(4)
	case 3:
		return rng.IntN(800_000)
	}
	return rng.IntN(200_000)
}

// TestRandomBodies sends requests with bodies over connections that stay, often two at once, and compares each byte of the responses. Some
// clients leave in the middle of a response, and some responses end too early. No other client may notice.
func TestRandomBodies(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		for _, row := range []struct {
			name  string
			rules []route.Rule
		}{
			{"plain", nil},
			{"with a retry", []route.Rule{{Cluster: "web", Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnConnectFailure}}}}}},
		} {
			t.Run(row.name, func(t *testing.T) {
				c.Loops = 1 // all connections share what a loop has
				r := start(t, setup{
					loop: c, rules: row.rules, servers: []string{bodyServer(t)},
					cluster: upstream.Config{Limits: upstream.Limits{Connections: 4}}, // connections are used again, and requests wait for them
				})
				var all sync.WaitGroup
				for i := range 6 {
					all.Go(func() {
						rng := rand.New(rand.NewPCG(uint64(i), 4))
						for range 2 {
							r.sendBodies(rng, i%3 == 2)
						}
					})
				}
				all.Wait()
				r.eventually("all requests are over", func() bool {
					sum, _ := r.Group.Stats()
					up := r.service.current.Load().plan.Clusters[0].Snapshot()
					return up.Active+up.Waiting == 0 && sum.Queues+sum.Unread == 0
				})
				if sum, _ := r.Group.Stats(); !c.Portable && runtime.GOOS == "linux" && sum.Spliced == 0 {
					t.Error("no byte was spliced")
				}
			})
		}
	})
}

// sendBodies sends a few requests over a new connection and checks their responses.
func (r *rig) sendBodies(rng *rand.Rand, leaves bool) {
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.TB.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
	br := bufio.NewReader(conn)
	for range 3 {
		type exchange struct {
			seed uint64
			size int
			sum  string
		}
		var sent []exchange
		var wire []byte
		for range 1 + rng.IntN(2) {
			e := exchange{seed: rng.Uint64N(1 << 16), size: bodySize(rng)}
			body := content(e.seed+1, bodySize(rng))
			sum := sha256.Sum256(body)
			e.sum = hex.EncodeToString(sum[:])
			method := []string{"POST", "PUT"}[rng.IntN(2)]
			wire = append(wire, proxytest.CRLF(fmt.Sprintf("%s /whole/%d/%d HTTP/1.1\nHost: a\nContent-Length: %d\n\n", method, e.seed, e.size, len(body)))...)
			wire = append(wire, body...)
			sent = append(sent, e)
		}
		pieces := rand.New(rand.NewPCG(rng.Uint64(), 5))
		go func() { _ = writeInPieces(pieces, conn, wire) }()
		for _, e := range sent {
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				r.TB.Errorf("a response of %d bytes: %v", e.size, err)
				return
			}
			if leaves && rng.IntN(3) == 0 {
				_, _ = io.CopyN(io.Discard, resp.Body, int64(e.size/2))
				_ = conn.(*net.TCPConn).SetLinger(0)
				return
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 200 || !bytes.Equal(got, content(e.seed, e.size)) {
				r.TB.Errorf("status %d, %d bytes of %d, or others: %v", resp.StatusCode, len(got), e.size, err)
				return
			}
			if sum := resp.Header.Get("Sum"); sum != e.sum {
				r.TB.Errorf("the server got a body with the hash %s, want %s", sum, e.sum)
			}
		}
	}
}

// A response that ends too early ends the client's connection too early, and the next client gets a whole one.
func TestLargeBodyIsCut(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.Loops = 1
		r := start(t, setup{loop: c, servers: []string{bodyServer(t)}})
		const size = 2 << 20
		for i, kind := range []string{"cut", "whole", "cut", "whole"} {
			conn := r.dial()
			conn.Send(fmt.Sprintf("GET /%s/%d/%d HTTP/1.1\nHost: a\n\n", kind, i, size))
			resp, err := http.ReadResponse(conn.R, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			want := content(uint64(i), size)
			if kind == "cut" && (err == nil || !bytes.HasPrefix(want, got)) || kind == "whole" && (err != nil || !bytes.Equal(got, want)) {
				t.Errorf("%s: %d bytes of %d, or others: %v", kind, len(got), size, err)
			}
		}
	})
}

// A server that stops in the middle of a long response is given up after BodyTimeout, and so is a client that stops reading, or that stops
// within its upload.
func TestLargeBodyStalls(t *testing.T) {
	const size = 32 << 20
	stalled := func(conn net.Conn, r *bufio.Reader) {
		if req, err := http.ReadRequest(r); err == nil && req.Method == http.MethodGet {
			_, _ = io.WriteString(conn, proxytest.CRLF(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n", size)))
			_, _ = conn.Write(make([]byte, size/2))
		}
		_, _ = io.Copy(io.Discard, r) // until the proxy closes the connection
	}
	whole := func(conn net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = io.WriteString(conn, proxytest.CRLF(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n", size)))
			_, _ = conn.Write(make([]byte, size))
		}
	}
	for _, row := range []struct {
		name, request string
		server        func(net.Conn, *bufio.Reader)
		reads         bool
	}{
		{"the server stops", "GET / HTTP/1.1\nHost: a\n\n", stalled, true},
		{"the client does not read", "GET / HTTP/1.1\nHost: a\n\n", whole, false},
		{"the client stops", fmt.Sprintf("POST / HTTP/1.1\nHost: a\nContent-Length: %d\n\n%s", size, strings.Repeat("x", size/32)), stalled, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				c.Loops = 1
				r := start(t, setup{loop: c, config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: brief}}, servers: []string{proxytest.Script(t, row.server)}})
				conn := r.dialSlow()
				conn.Send(row.request)
				if row.reads {
					resp, err := http.ReadResponse(conn.R, nil)
					if err == nil && resp.StatusCode == 200 {
						var n int64
						if n, err = io.Copy(io.Discard, resp.Body); n >= size {
							t.Errorf("%d bytes of a response of %d", n, size)
						}
					}
					if err == nil && resp.StatusCode != 408 {
						t.Errorf("status %d, want 408 or an error", resp.StatusCode)
					}
				}
				r.eventually("both connections are closed", func() bool { sum, _ := r.Group.Stats(); return sum.Conns == 0 })
			})
		})
	}
}

// The access log counts the bytes of bodies that pass without being read.
func TestLogOfLargeBodies(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.Loops = 1
		cfg := setup{loop: c, servers: []string{bodyServer(t)}}
		r := start(t, cfg)
		logged := r.accessLog(cfg)
		const in, out = 3 << 20, 5 << 20
		conn := r.dial()
		conn.Send(fmt.Sprintf("POST /whole/1/%d HTTP/1.1\nHost: a\nConnection: close\nContent-Length: %d\n\n%s", out, in, strings.Repeat("x", in)))
		if resp, body := conn.ReadResponse("POST"); resp.StatusCode != 200 || body != string(content(1, out)) {
			t.Fatalf("status %d, %d bytes of %d, or others", resp.StatusCode, len(body), out)
		}
		conn.Ends()
		text := logged()
		var line struct {
			In  int `json:"bytes_in"`
			Out int `json:"bytes_out"`
		}
		if err := json.Unmarshal(text, &line); err != nil || line.In < in || line.In > in+200 || line.Out < out || line.Out > out+200 {
			t.Errorf("%v; log says %s", err, text)
		}
	})
}
