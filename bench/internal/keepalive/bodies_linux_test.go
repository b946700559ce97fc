package keepalive

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bodies are repeated over all connections, in both directions, and continue from one run to the next.
func TestBodies(t *testing.T) {
	const size = 300_000
	content := FileBody(size)
	var mu sync.Mutex
	paths := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths[r.Method+" "+r.URL.Path] = true
		mu.Unlock()
		if r.Method == http.MethodPut {
			if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, content) {
				t.Errorf("the server got %d bytes, %v", len(got), err)
			}
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	for _, s := range []Spec{{Path: "/file"}, {Path: "/put/", Put: true}} {
		s.Wire, s.Addr, s.Conns, s.Size = Bodies, server.Listener.Addr().String(), 3, size
		c, err := StartClient(s)
		if err != nil {
			t.Fatal(err)
		}
		defer c.End()
		for range 2 {
			r, err := c.RunUntil(Load{Warm: 10 * time.Millisecond, Window: 50 * time.Millisecond}, 3)
			if err != nil {
				t.Fatal(err)
			}
			if r.Requests < 3 || r.Bytes < size || r.Failures != 0 {
				t.Errorf("%s: %d responses, %d bytes, %d failures: %s", s.Path, r.Requests, r.Bytes, r.Failures, r.Failure)
			}
		}
	}
	mu.Lock() // the last requests may still be served
	defer mu.Unlock()
	if want := map[string]bool{"GET /file": true, "PUT /put/0": true, "PUT /put/1": true, "PUT /put/2": true}; len(paths) != len(want) {
		t.Errorf("got requests of %v, want %v", paths, want)
	}
}

func TestBodiesFail(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "short")
	}))
	defer server.Close()
	for _, row := range []struct {
		s    Spec
		want string
	}{
		{Spec{Path: "/file", Size: 10}, "a body of 5 bytes: want 10"},
		{Spec{Path: "/file", Size: 10, Put: true}, "want status 201 or 204"},
	} {
		row.s.Wire, row.s.Addr, row.s.Conns = Bodies, server.Listener.Addr().String(), 1
		c, err := StartClient(row.s)
		if err != nil {
			t.Fatal(err)
		}
		defer c.End()
		if _, err := c.Run(Load{Window: time.Minute}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v, want %s", err, row.want)
		}
	}
	if _, err := StartClient(Spec{Wire: Bodies, Addr: "127.0.0.1:80"}); err == nil || !strings.Contains(err.Error(), "want a path") {
		t.Errorf("got %v, want that there is no path", err)
	}
}
