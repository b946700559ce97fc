package http1

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
)

// recorder is a server that records all bytes of each connection. It responds to each request that net/http parses
// from them.
type recorder struct {
	mu    sync.Mutex
	conns []*bytes.Buffer
}

func (rec *recorder) run(tb testing.TB) string {
	return proxytest.Script(tb, func(conn net.Conn, _ *bufio.Reader) {
		seen := &bytes.Buffer{}
		rec.mu.Lock()
		rec.conns = append(rec.conns, seen)
		rec.mu.Unlock()
		r := bufio.NewReader(io.TeeReader(conn, writer(func(p []byte) {
			rec.mu.Lock()
			seen.Write(p)
			rec.mu.Unlock()
		})))
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// requests parses the bytes that arrived since the last call. They must be complete requests with one framing field
// and one Host field each.
func (rec *recorder) requests(t *testing.T) (paths []string) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, seen := range rec.conns {
		r := bufio.NewReader(bytes.NewReader(seen.Bytes()))
		for {
			if _, err := r.Peek(1); err != nil {
				break
			}
			req, err := http.ReadRequest(r)
			if err != nil {
				t.Fatalf("server got what is no request: %v in %q", err, seen)
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				t.Fatalf("server got what is no body: %v in %q", err, seen)
			}
			lengths := len(req.Header["Content-Length"])
			if len(req.TransferEncoding) > 0 && lengths > 0 || lengths > 1 || req.ContentLength < -1 {
				t.Fatalf("server got two framings: %q", seen)
			}
			paths = append(paths, req.URL.RequestURI())
		}
		seen.Reset()
	}
	return paths
}

// TestSmuggling sends every case of protocol/http1's corpus through the proxy, followed by a marked request. The
// server must get the case at most once, and nothing else but the marked request. It must get the marked request once
// if the connection stays open.
func TestSmuggling(t *testing.T) {
	const mark = "GET /mark HTTP/1.1\r\nHost: mark\r\n\r\n"
	cases := 0
	for _, file := range []string{"requests.txt", "chunked.txt"} {
		text, err := os.ReadFile("../../protocol/http1/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		rec := &recorder{}
		r := start(t, setup{loop: loop.Config{Loops: 1}, servers: []string{rec.run(t)}})
		for block := range strings.SplitSeq(string(text), "\n== ") {
			name, block, _ := strings.Cut(block, "\n")
			raw, verdict, ok := strings.Cut(block, "\n-- ")
			if !ok {
				continue // skip the comment
			}
			cases++
			verdict, _, _ = strings.Cut(verdict, "\n")
			data, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(raw, "\n", ""), `"`, `\"`) + `"`)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			t.Run(file+"/"+name, func(t *testing.T) {
				conn := r.dial()
				if _, err := io.WriteString(conn, data+mark); err != nil {
					t.Fatal(err)
				}
				conn.Conn.(*net.TCPConn).CloseWrite()
				got, err := io.ReadAll(conn.R)
				if err != nil {
					t.Fatalf("got %q, %v", got, err)
				}
				paths := rec.requests(t)
				marks := 0
				for _, path := range paths {
					if path == "/mark" {
						marks++
					}
				}
				switch {
				case verdict == "forward" && (len(paths)-marks != 1 || marks > 1) && !strings.HasPrefix(data, "CONNECT"):
					t.Errorf("server got %q, want the case once and the mark at most once", paths)
				case verdict != "forward" && len(paths) > 0:
					t.Errorf("server got %q of what is refused", paths)
				case verdict != "forward" && !strings.HasPrefix(string(got), "HTTP/1.1 "+verdict):
					t.Errorf("client got %q, want status %s", got, verdict)
				case verdict != "forward" && strings.Count(string(got), "HTTP/1.1 ") != 1:
					t.Errorf("client got %q, want one response and the end", got)
				}
			})
		}
	}
	if cases < 100 {
		t.Errorf("%d cases: the corpus was not read", cases)
	}
}
