package proxy

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// failing starts a server whose response, or lack of one, the path decides.
func failing(t *testing.T) string {
	t.Helper()
	return proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/502":
			w.WriteHeader(http.StatusBadGateway)
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
		case "/reset":
			panic(http.ErrAbortHandler)
		}
	})
}

// TestOneClientEjectsNothing: what one client makes servers respond, or makes them reset, ejects no endpoint. Server errors of a status that
// many programs use for requests that they do not understand do so neither if several clients get them.
func TestOneClientEjectsNothing(t *testing.T) {
	t.Parallel()
	cluster := cluster1("web", failing(t), failing(t), failing(t))
	cluster.Outlier = &upstream.Outlier{}
	p := start(t, &Config{
		Loops:     2,
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "web"}},
		Clusters:  []upstream.Config{cluster},
	})
	ask := func(from, path string) {
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := &http.Client{Transport: &http.Transport{DialContext: d.DialContext}, Timeout: time.Minute}
		defer client.CloseIdleConnections()
		for range 60 {
			r, err := client.Post("http://"+at(p, 0)+path, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
	}
	for _, path := range []string{"/502", "/reset", "/500"} {
		ask("127.0.0.1", path)
	}
	ask("127.0.0.2", "/500")
	for _, e := range p.Snapshot().Clusters[0].Endpoints {
		if e.Ejections > 0 {
			t.Errorf("%s: %d ejections", e.Address, e.Ejections)
		}
	}
}

// TestRefusedRequestGoesElsewhere: without a retry policy, a request whose endpoint refuses the connection is sent to another one, with its
// body. An empty policy turns that off, and the log says why requests fail.
func TestRefusedRequestGoesElsewhere(t *testing.T) {
	t.Parallel()
	dead := proxytest.DeadAddr(t)
	for _, protocol := range []upstream.Protocol{upstream.HTTP1, upstream.HTTP2} {
		for _, off := range []bool{false, true} {
			t.Run(string(protocol)+map[bool]string{false: "", true: " off"}[off], func(t *testing.T) {
				t.Parallel()
				live := proxytest.ServeHTTP2(t, nil, proxytest.EchoHTTP)
				if protocol == upstream.HTTP1 {
					live = proxytest.ServeHTTP(t, proxytest.EchoHTTP)
				}
				cluster := cluster1("web", dead, live)
				cluster.Protocol, cluster.Balance = protocol, upstream.RoundRobin
				rule := route.Rule{Cluster: "web"}
				if off {
					rule.Forward.Retry = &route.Retry{On: []route.Cause{}}
				}
				log := filepath.Join(t.TempDir(), "access.log")
				p := start(t, &Config{
					Loops:     2,
					Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, Routes: []route.Rule{rule}}},
					Clusters:  []upstream.Config{cluster},
					AccessLog: traffic.LogConfig{File: log},
				})
				failed := 0
				for range 10 {
					r, err := http.Post("http://"+at(p, 0), "", strings.NewReader("a body"))
					if err != nil {
						t.Fatal(err)
					}
					body, _ := io.ReadAll(r.Body)
					_ = r.Body.Close()
					if r.StatusCode != http.StatusOK {
						failed++
					} else if !strings.Contains(string(body), "a body") {
						t.Errorf("got %q", body)
					}
				}
				if want := map[bool]int{false: 0, true: 5}[off]; failed != want {
					t.Errorf("%d of 10 requests failed, want %d", failed, want)
				}
				var reasons []string
				proxytest.Eventually(t, "the log has all requests", func() bool {
					text, _ := os.ReadFile(log)
					reasons = nil
					for line := range strings.Lines(string(text)) {
						var e struct{ Reason, Endpoint string }
						if json.Unmarshal([]byte(line), &e) == nil {
							reasons = append(reasons, e.Reason)
							if e.Reason != "" && e.Endpoint != dead {
								t.Errorf("%s names the endpoint %s, want %s", line, e.Endpoint, dead)
							}
						}
					}
					return len(reasons) == 10
				})
				slices.Sort(reasons)
				if got := slices.Index(reasons, "connect_refused"); off && (got != 5 || reasons[9] != "connect_refused") || !off && got >= 0 {
					t.Errorf("the reasons are %q", reasons)
				}
			})
		}
	}
}
