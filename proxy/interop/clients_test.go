package interop

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNode: Node's clients send requests to each server through ferry.
func TestNode(t *testing.T) {
	const size = 16 << 20
	downloaded := sum(size)
	for server, address := range servers(t) {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			f := run(t, "http1.yaml", map[string]string{"18090": address})
			got := nodeClient(t, f.url("18080"), "kept", "parallel", "upload", "download", "pauses", "fetch")
			connections := "1"
			if server == "python" {
				connections = "50" // the responses have no length, so each ends with its connection
			}
			want := "kept: 50 requests, " + connections + " connections\n" +
				"parallel: 80 requests, N connections\n" +
				"upload: 10000000 bytes in chunks\n" +
				"download: " + downloaded + "\n" +
				"pauses: 10 requests\n" +
				"fetch: 40 requests\n"
			connections = "8"
			if server == "python" {
				connections = "80"
			}
			if want = strings.Replace(want, "N", connections, 1); got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func nodeClient(t *testing.T, base string, parts ...string) string {
	t.Helper()
	return output(t, "", "node", append([]string{filepath.Join("testdata", "client.mjs"), base}, parts...)...)
}

// TestNodePause pauses longer than Node's keep-alive timeout before it sends a request.
func TestNodePause(t *testing.T) {
	t.Parallel()
	const nodesDefault = 5 * time.Second
	f := run(t, "http1.yaml", map[string]string{"18090": script(t, "node", "server.mjs", fmt.Sprint(nodesDefault.Milliseconds()))})
	for _, pause := range []time.Duration{0, nodesDefault + 500*time.Millisecond} {
		time.Sleep(pause)
		a, err := http.Post(f.url("18080")+"/hash", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != http.StatusOK {
			t.Errorf("after %v: got status %d, want 200", pause, a.StatusCode)
		}
	}
}

// TestPython: Python's clients send requests to each server through ferry.
func TestPython(t *testing.T) {
	for server, address := range servers(t) {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			f := run(t, "http1.yaml", map[string]string{"18090": address})
			got := output(t, "", "python3", filepath.Join("testdata", "client.py"), f.at("18080"))
			want := "http.client: 90 requests\nhttp.client: chunks\nhttp.client, HTTP/1.0: 15 requests\nurllib: 40 requests\n"
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

// TestEvents: a server sends each event only after the client has confirmed the previous one.
func TestEvents(t *testing.T) {
	t.Parallel()
	const count = 50
	seen := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := range count {
			fmt.Fprintf(w, "data: %d\n\n", n)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			select {
			case <-seen:
			case <-time.After(patience):
				t.Errorf("event %d does not arrive while the answer is under way", n)
				return
			}
		}
	})
	mux.HandleFunc("/seen", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case seen <- struct{}{}:
		case <-r.Context().Done():
		}
	})
	f := run(t, "http1.yaml", map[string]string{"18090": serveGo(t, mux)})
	if got, want := nodeClient(t, f.url("18080"), "events"), fmt.Sprintf("events: %d events\n", count); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
