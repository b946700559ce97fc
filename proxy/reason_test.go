package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// TestOperatorLearnsWhyRequestsFail: an error response of the proxy says why only if the listener is set so, the log has one warning of an
// endpoint that fails, with its error, and the snapshot has the last one.
func TestOperatorLearnsWhyRequestsFail(t *testing.T) {
	t.Parallel()
	dead := proxytest.DeadAddr(t)
	bad := proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	log := &logged{}
	routes := []route.Rule{
		{Match: route.Match{Prefix: "/dead"}, Cluster: "dead"},
		{Match: route.Match{Path: "/reset"}, Cluster: "bad"},
		{Match: route.Match{Path: "/502"}, Cluster: "bad"},
		{Match: route.Match{Path: "/limited"}, Cluster: "bad", RateLimit: &route.RateLimit{RequestsPerSecond: 0.001}},
	}
	p := runLogged(t, &Config{
		Loops: 1,
		Listeners: []Listener{
			{Name: "says", Address: "127.0.0.1:0", Protocol: HTTP, Routes: routes, ReasonHeader: true},
			{Name: "silent", Address: "127.0.0.1:0", Protocol: HTTP, Routes: routes},
		},
		Clusters: []upstream.Config{cluster1("dead", dead), cluster1("bad", bad)},
	}, slog.New(log))
	for i, says := range []bool{true, false} {
		for _, http2 := range []bool{false, true} {
			client := pairingClient(t, http2)
			ask := func(path string) *http.Response {
				r, err := client.Post("http://"+at(p, i)+path, "", nil)
				if err != nil {
					t.Fatal(err)
				}
				_ = r.Body.Close()
				return r
			}
			ask("/limited")
			for path, want := range map[string]string{
				"/dead": "503 connect_refused", "/reset": "502 reset_before_response", "/502": "502 ", "/none": "404 no_route", "/limited": "429 rate_limit",
			} {
				r := ask(path)
				status, reason, _ := strings.Cut(want, " ")
				if !says {
					reason = ""
				}
				if got := r.Header.Get("X-Ferry-Reason"); !strings.HasPrefix(r.Status, status) || got != reason {
					t.Errorf("%s, HTTP/2 %v: %s with the reason %q, want %s with %q", path, http2, r.Status, got, status, reason)
				}
				if (r.Header.Get("Retry-After") != "") != (path == "/limited") {
					t.Errorf("%s: Retry-After is %q", path, r.Header.Get("Retry-After"))
				}
			}
		}
	}
	last := map[string]string{}
	for _, c := range p.Snapshot().Clusters {
		if e := c.Endpoints[0]; e.LastErr != nil {
			last[c.Name] = e.LastErr.Error()
		}
	}
	if !strings.Contains(last["dead"], "refused") || last["bad"] != "reset before response" && last["bad"] != "its response is status 502" {
		t.Errorf("the last errors are %q", last)
	}
	proxytest.Eventually(t, "a warning for each of the two endpoints", func() bool { return log.count("requests to an endpoint fail") == 2 })
}

// logged is a log that counts its records.
type logged struct {
	mu      sync.Mutex
	records []slog.Record
}

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	return nil
}
func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

// count returns how many records have text in their message.
func (l *logged) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if strings.Contains(r.Message, text) {
			n++
		}
	}
	return n
}
