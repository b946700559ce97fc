package web_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge/web"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/format"
	jsonformat "example.com/ferry/format/json"
)

// rig is a server and its broker.
type rig struct {
	t      *testing.T
	broker *broker.Broker
	server *web.Server
	addr   string
}

// patience is the longest wait for an event of a test, also on a slow machine.
const patience = time.Minute

func newRig(t *testing.T, streams broker.Config, cfg web.Config) *rig {
	t.Helper()
	if streams.Identify == nil {
		streams.Identify = broker.Anyone
	}
	streams.Formats = []format.Format{jsonformat.Format{}}
	streams.Log = slog.New(slog.DiscardHandler)
	b, err := broker.New(streams)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Broker, cfg.Address, cfg.Log = b, "127.0.0.1:0", cmp.Or(cfg.Log, streams.Log)
	s, err := web.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Drain(ctx); err != nil {
			t.Errorf("Drain: %v", err)
		}
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return &rig{t, b, s, s.Addr().String()}
}

// stored returns a stream of a memory engine.
func stored(t *testing.T, tags ...string) broker.Stored {
	t.Helper()
	e := memory.New()
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	c := engine.Config{Name: "events", Tags: tags, InMemory: true}
	s, err := e.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return broker.Stored{Stream: s, Config: c, AtLeastOnce: true}
}

func (r *rig) url(path string) string { return "http://" + r.addr + path }

// do sends a request. fields are name, value, name...
func (r *rig) do(method, path, body string, fields ...string) (status int, response string, header http.Header) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.url(path), strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

func (r *rig) wantStatus(want int, method, path, body string, fields ...string) string {
	r.t.Helper()
	status, response, _ := r.do(method, path, body, fields...)
	if status != want {
		r.t.Errorf("%s %s %q: status %d %s, want %d", method, path, body, status, response, want)
	}
	return response
}

// eventStream is a stream of events that a test reads.
type eventStream struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

// event is one event; ID is 0 without an id.
type event struct {
	Name    string
	ID      uint64
	Tag     string          `json:"tag"`
	Payload json.RawMessage `json:"payload"`
	Base64  string          `json:"base64"`
	Type    string          `json:"type"`
}

func (r *rig) events(path string, fields ...string) *eventStream {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url(path), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(req) //nolint:bodyclose // the cleanup closes it
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		r.t.Fatalf("GET %s: status %d, %v: %s", path, res.StatusCode, res.Header, b)
	}
	s := &eventStream{r.t, bufio.NewScanner(res.Body), cancel}
	s.lines.Buffer(nil, 1<<20)
	if !s.lines.Scan() || s.lines.Text() != "retry: 1000" {
		r.t.Fatalf("the stream begins with %q", s.lines.Text())
	}
	return s
}

// next returns the next event.
func (s *eventStream) next() (e event) {
	s.t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			_, _ = fmt.Sscan(value, &e.ID)
		case "event":
			e.Name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				s.t.Fatalf("data %q: %v", value, err)
			}
			return e
		}
	}
	s.t.Fatalf("the stream has ended: %v", s.lines.Err())
	return e
}

func (s *eventStream) want(tag, payload string) event {
	s.t.Helper()
	e := s.next()
	if e.Tag != tag || string(e.Payload) != payload {
		s.t.Fatalf("got event %s %s, want %s %s", e.Tag, e.Payload, tag, payload)
	}
	return e
}

// raw is a connection that a test writes single bytes to.
func (r *rig) raw(request string) net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, request); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// await waits until ok is true. The broker has no event for it.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
