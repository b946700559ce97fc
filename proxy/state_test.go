package proxy

import (
	"encoding/json"
	"net/http"
	"testing"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// TestStateOfAnotherProcess: a proxy that gets the state of the one before refuses what that would refuse: requests beyond the rate limit of
// a route, and requests to an endpoint that was drained.
func TestStateOfAnotherProcess(t *testing.T) {
	t.Parallel()
	servers := []string{web(t, "a", 0), web(t, "b", 0)}
	limited := route.Rule{Match: route.Match{Path: "/limited"}, RateLimit: &route.RateLimit{RequestsPerSecond: 0.001, Burst: 2}, Respond: &route.Response{Status: 200}}
	cfg := func() *Config {
		return &Config{
			Loops:     2,
			Listeners: []Listener{{Name: "l", Address: "127.0.0.1:0", Protocol: HTTP1, Routes: []route.Rule{limited, {Cluster: "c"}}}},
			Clusters:  []upstream.Config{cluster1("c", servers...)},
		}
	}
	status := func(p *Proxy, path string) int {
		r, err := http.Get("http://" + at(p, 0) + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	before := start(t, cfg())
	for _, s := range servers {
		if _, err := before.DrainEndpoint("c", s, true); err != nil {
			t.Fatal(err)
		}
	}
	if got := status(before, "/limited"); got != 200 {
		t.Fatalf("got %d", got)
	}
	passed, err := json.Marshal(before.State())
	if err != nil {
		t.Fatal(err)
	}
	next := cfg()
	if err := json.Unmarshal(passed, &next.State); err != nil {
		t.Fatal(err)
	}
	p := start(t, next)
	for i, want := range []int{200, 429} {
		if got := status(p, "/limited"); got != want {
			t.Errorf("request %d above the one before: %d, want %d", i, got, want)
		}
	}
	if got := status(p, "/"); got != 503 {
		t.Errorf("all endpoints are drained: %d, want 503", got)
	}
}
