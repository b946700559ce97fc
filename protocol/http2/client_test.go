package http2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/ferry/internal/needs"
)

// loadClient keeps requests open until all are done.
type loadClient struct {
	conn      *Conn
	path      []byte
	body      []byte
	requests  int // not begun
	waiting   int
	responses map[string]int // by what came back
}

// load is the state of one request.
type load struct {
	status, bytes int
	sent          int
	trailer       string
}

func (l *loadClient) fill() {
	for l.requests > 0 && l.waiting < 30 && l.conn.CanOpen() {
		l.requests--
		l.waiting++
		s := l.conn.Open()
		s.User = new(load)
		e := s.BeginHeaders()
		e.Method([]byte(map[bool]string{true: "GET", false: "POST"}[l.body == nil]))
		e.Scheme([]byte("http"))
		e.Authority([]byte("localhost"))
		e.Path(l.path)
		e.FieldString("user-agent", "ferry")
		e.FieldString("te", "trailers")
		e.End(l.body == nil)
		l.send(s)
	}
	if l.waiting == 0 {
		l.conn.GoAway(NoError)
	}
}

func (l *loadClient) send(s *Stream) {
	state := s.User.(*load)
	for l.body != nil && state.sent < len(l.body) && !s.Full() {
		n := min(10_000, len(l.body)-state.sent)
		state.sent += n
		s.Write(l.body[state.sent-n:state.sent], state.sent == len(l.body))
	}
}

func (l *loadClient) Headers(s *Stream, h *Head, end bool) {
	state := s.User.(*load)
	if h.Trailers {
		state.trailer = string(h.Get("x-trailer"))
	} else {
		state.status = h.Status
	}
	l.end(s, end)
}

func (l *loadClient) Data(s *Stream, p []byte, end bool) {
	s.User.(*load).bytes += len(p)
	s.Consumed(len(p))
	l.end(s, end)
}

func (l *loadClient) end(s *Stream, end bool) {
	if end {
		state := s.User.(*load)
		l.note(s, fmt.Sprint(state.status, " ", state.bytes, " ", state.trailer))
	}
}

func (l *loadClient) note(s *Stream, result string) {
	l.responses[result]++
	l.waiting--
	s.Release()
	l.fill()
}

func (l *loadClient) Reset(s *Stream, why StreamError) { l.note(s, why.Error()) }
func (l *loadClient) Writable(s *Stream)               { l.send(s) }
func (l *loadClient) Sent(*Stream)                     {}
func (l *loadClient) GoAway(uint32, Code)              {}

var errDone = errors.New("all requests are done")

// runLoad performs requests over one connection and returns the responses.
func runLoad(t *testing.T, addr, path string, body []byte, requests int) map[string]int {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	out := &socketOutput{}
	l := &loadClient{path: []byte(path), body: body, requests: requests, responses: make(map[string]int)}
	l.conn = NewClient(nil, l, out)
	l.fill()
	err = drive(nc, l.conn, out, func() error {
		if l.waiting == 0 && l.requests == 0 {
			return errDone
		}
		return nil
	})
	l.conn.Closed(err)
	if err != nil && !errors.Is(err, errDone) {
		t.Errorf("%s: %v", path, err)
	}
	return l.responses
}

// TestGoServer sends requests to net/http: bodies up and down, trailers, early responses.
func TestGoServer(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 300_000)) })
	mux.HandleFunc("/count", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(w, "%010d", n)
	})
	mux.HandleFunc("/trailer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Trailer")
		_, _ = w.Write([]byte("a"))
		w.Header().Set("X-Trailer", "t")
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(413) })
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	addr := server.Listener.Addr().String()
	body := bytes.Repeat([]byte("0123456789"), 20_000)
	for _, row := range []struct {
		path string
		body []byte
		want string
	}{
		{"/large", nil, "200 300000 "},
		{"/count", body, "200 10 "},
		{"/trailer", nil, "200 1 t"},
		{"/early", body, "413 0 "},
		{"/missing", nil, "404 19 "},
	} {
		if got := runLoad(t, addr, row.path, row.body, 200); got[row.want] != 200 {
			t.Errorf("%s: got %v, want 200 times %q", row.path, got, row.want)
		}
	}
}

// TestNghttpd sends requests to nghttpd.
func TestNghttpd(t *testing.T) {
	t.Parallel()
	program := needs.Program(t, "nghttpd")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 150_000), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	cmd := exec.Command(program, "--no-tls", "-a", "127.0.0.1", "-d", dir, "--trailer", "x-trailer: t", "--echo-upload", port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitListening(t, "127.0.0.1:"+port)
	for _, row := range []struct {
		path string
		body []byte
		want string
	}{
		{"/file", nil, "200 150000 t"},
		{"/echo", make([]byte, 99_000), "200 99000 t"},
	} {
		if got := runLoad(t, "127.0.0.1:"+port, row.path, row.body, 100); got[row.want] != 100 {
			t.Errorf("%s: got %v, want 100 times %q", row.path, got, row.want)
		}
	}
}
