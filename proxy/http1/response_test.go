package http1

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
)

// respondAlways starts a server that writes the same raw response to each request. If closes is true, the server then
// closes the connection.
func respondAlways(tb testing.TB, response string, closes bool) string {
	return proxytest.Script(tb, func(conn net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			if _, err := io.WriteString(conn, proxytest.CRLF(response)); err != nil || closes {
				return
			}
		}
	})
}

// errorResponse is a response of the proxy's own on a connection that stays open.
func errorResponse(status int) string {
	text := fmt.Sprintf("%d %s", status, exchange.StatusText(status))
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: keep-alive\r\n\r\n%[1]s\n", text, len(text)+1)
}

var badGateway = errorResponse(502)

func TestResponses(t *testing.T) {
	const get = "GET / HTTP/1.1\nHost: a\n\n"
	for _, row := range []struct {
		name      string
		request   string
		response  string
		closes    bool   // the server closes the connection after its response
		want      string // all bytes that the client receives
		keepAlive bool   // the client's connection stays open
	}{
		{"length", get, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", true},
		{"no reason", get, "HTTP/1.1 200 \nContent-Length: 0\n\n", false, "HTTP/1.1 200 \nContent-Length: 0\n\n", true},
		{"server closes", get, "HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nhi", true, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", true},
		{"server of HTTP/1.0", get, "HTTP/1.0 200 OK\nContent-Length: 2\n\nhi", true, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", true},
		{"head", "HEAD / HTTP/1.1\nHost: a\n\n", "HTTP/1.1 200 OK\nContent-Length: 9\n\n", false, "HTTP/1.1 200 OK\nContent-Length: 9\n\n", true},
		{"no content", get, "HTTP/1.1 204 No Content\n\n", false, "HTTP/1.1 204 No Content\n\n", true},
		{"not modified", get, "HTTP/1.1 304 Not Modified\nContent-Length: 9\n\n", false, "HTTP/1.1 304 Not Modified\nContent-Length: 9\n\n", true},
		{
			"chunked", get, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\nX-Sum: 1\n\n", false,
			"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\nX-Sum: 1\n\n", true,
		},
		{"until close", get, "HTTP/1.1 200 OK\n\nhi", true, "HTTP/1.1 200 OK\nConnection: close\n\nhi", false},
		{
			"early hints", get, "HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false,
			"HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nhi", true,
		},
		{
			"early hints to 1.0", "GET / HTTP/1.0\n\n", "HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false,
			"HTTP/1.1 200 OK\nContent-Length: 2\nConnection: close\n\nhi", false,
		},
		{
			"asked to close", "GET / HTTP/1.1\nHost: a\nConnection: close\n\n", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false,
			"HTTP/1.1 200 OK\nContent-Length: 2\nConnection: close\n\nhi", false,
		},
		{
			"1.0", "GET / HTTP/1.0\n\n", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false,
			"HTTP/1.1 200 OK\nContent-Length: 2\nConnection: close\n\nhi", false,
		},
		{
			"1.0 that keeps alive", "GET / HTTP/1.0\nConnection: Keep-Alive\n\n", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false,
			"HTTP/1.1 200 OK\nContent-Length: 2\nConnection: keep-alive\n\nhi", true,
		},
		{
			"chunked to 1.0", "GET / HTTP/1.0\nConnection: Keep-Alive\n\n", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n1\n!\n0\n\n", false,
			"HTTP/1.1 200 OK\nConnection: close\n\nhi!", false,
		},
		{
			"more than was asked for", get, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhiHTTP/1.1 200 OK\nContent-Length: 3\n\nbad", false,
			"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", true,
		},
		{
			"unreadable", get, "HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3\n\nhi", true,
			badGateway, true,
		},
		{
			"unrequested upgrade", get, "HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\n\n", true,
			badGateway, true,
		},
		{
			"server closes without a response", get, "", true,
			badGateway, true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				r := start(t, setup{loop: c, servers: []string{respondAlways(t, row.response, row.closes)}})
				conn := r.dial()
				want := row.want
				if want != badGateway {
					want = proxytest.CRLF(want)
				}
				rounds := 1
				if row.keepAlive {
					rounds = 3
				}
				for i := range rounds {
					conn.Send(row.request)
					got := make([]byte, len(want))
					if n, err := io.ReadFull(conn.R, got); err != nil || string(got) != want {
						t.Fatalf("response %d: got %q, %v\nwant %q", i+1, got[:n], err, want)
					}
				}
				if row.keepAlive {
					if err := conn.Conn.(*net.TCPConn).CloseWrite(); err != nil {
						t.Fatal(err)
					}
				}
				conn.Ends()
			})
		})
	}
}

// TestCuts sends a request and a response in two pieces each, cut at every byte, and byte by byte.
func TestCuts(t *testing.T) {
	request := proxytest.CRLF("POST /a HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n3\nabc\n0\nX-T: 1\n\n")
	response := proxytest.CRLF("HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\nX-S: 2\n\n")
	pieces := func(text string, cut int) []string {
		if cut < len(text) {
			return []string{text[:cut], text[cut:]}
		}
		return strings.Split(text, "")
	}
	write := func(w io.Writer, text string, cut int) error {
		for _, piece := range pieces(text, cut) {
			if _, err := io.WriteString(w, piece); err != nil {
				return err
			}
			time.Sleep(100 * time.Microsecond) // so that the pieces arrive separately; the result does not depend on it
		}
		return nil
	}
	cuts := make(chan int, 1)
	server := proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil || string(body) != "abc" || req.Trailer.Get("X-T") != "1" {
				t.Errorf("server got body %q, trailer %v, error %v", body, req.Trailer, err)
				return
			}
			if err := write(conn, response, <-cuts); err != nil {
				return
			}
		}
	})
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{server}})
		conn := r.dial()
		for cut := range max(len(request), len(response)) + 1 {
			cuts <- cut
			if err := write(conn, request, cut); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(response))
			if n, err := io.ReadFull(conn.R, got); err != nil || string(got) != response {
				t.Fatalf("cut at %d: got %q, %v\nwant %q", cut, got[:n], err, response)
			}
		}
	})
}
