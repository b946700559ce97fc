package proxy

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"
	"weak"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// TestConnectionKeepsNoConfiguration: a connection of either version of HTTP that stays open over many reloads uses the newest routes for
// its next request, and keeps no table of routes that were replaced.
func TestConnectionKeepsNoConfiguration(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) {
			const reloads = 8
			cfg := func(i int) *Config {
				rule := route.Rule{Respond: &route.Response{Status: 200, Body: fmt.Sprint(i)}}
				return &Config{
					Loops:     2,
					Listeners: []Listener{{Name: "l", Address: "127.0.0.1:0", Protocol: HTTP, Routes: []route.Rule{rule}}},
					Clusters:  []upstream.Config{cluster1("web", "127.0.0.1:1")},
				}
			}
			p := start(t, cfg(0))
			var tables []weak.Pointer[route.Table]
			var clients []*http.Client
			for i := range reloads {
				clients = append(clients, pairingClient(t, http2))
				for _, c := range clients {
					r, err := c.Get("http://" + at(p, 0))
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(r.Body)
					r.Body.Close()
					if err != nil || string(got) != fmt.Sprint(i) {
						t.Fatalf("after reload %d: %q, %v", i, got, err)
					}
				}
				tables = append(tables, weak.Make(p.parts.tables[0]))
				if err := p.Reload(cfg(i + 1)); err != nil {
					t.Fatal(err)
				}
			}
			kept := reloads
			for late := time.Now().Add(20 * time.Second); kept > 1 && time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
				runtime.GC()
				kept = 0
				for _, table := range tables {
					if table.Value() != nil {
						kept++
					}
				}
			}
			if kept > 1 { // a free object may have the last
				t.Errorf("%d of %d tables that were replaced are kept", kept, reloads)
			}
		})
	}
}
