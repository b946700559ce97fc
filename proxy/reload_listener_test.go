package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

// freePort returns a port of 127.0.0.1 that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return port
}

// TestReloadMovesAListenerOnItsPort: a listener changes from one address of the machine to all of them and back, and keeps its port. No
// request fails meanwhile.
func TestReloadMovesAListenerOnItsPort(t *testing.T) {
	t.Parallel()
	for _, goroutines := range []bool{false, true} {
		t.Run(fmt.Sprintf("goroutines=%v", goroutines), func(t *testing.T) {
			t.Parallel()
			port, server := freePort(t), web(t, "a", 0)
			cfg := func(host string) *Config {
				return &Config{
					Loops: 2, Goroutines: goroutines,
					Listeners: []Listener{{Name: "l", Address: net.JoinHostPort(host, port), Protocol: HTTP1, Cluster: "web"}},
					Clusters:  []upstream.Config{cluster1("web", server)},
				}
			}
			p := start(t, cfg("127.0.0.1"))
			client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			for _, host := range []string{"0.0.0.0", "127.0.0.1", "0.0.0.0"} {
				if err := p.Reload(cfg(host)); err != nil {
					t.Fatalf("to %s: %v", host, err)
				}
				if got, err := get(client, "http://127.0.0.1:"+port); err != nil || got != "a / hi" {
					t.Errorf("at %s: got %q, %v", host, got, err)
				}
			}
			both := cfg("0.0.0.0")
			both.Listeners = append(both.Listeners, both.Listeners[0])
			both.Listeners[1].Name, both.Listeners[1].Address = "second", "127.0.0.1:"+port
			if err := p.Reload(both); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("a second listener on the port of one that stays: %v, want that the address is in use", err)
			}
		})
	}
}

// TestPreparedListenerServesNoClient: a new listener accepts nothing before its configuration is in place, and nothing if it is refused.
func TestPreparedListenerServesNoClient(t *testing.T) {
	t.Parallel()
	server, second := web(t, "a", 0), "127.0.0.1:"+freePort(t)
	cfg := func(more ...Listener) *Config {
		return &Config{
			Loops:     2,
			Listeners: append([]Listener{{Name: "l", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"}}, more...),
			Clusters:  []upstream.Config{cluster1("web", server)},
		}
	}
	p := start(t, cfg())
	client := &http.Client{Timeout: 20 * time.Second}
	for _, refused := range []bool{true, false} {
		change, err := p.Prepare(cfg(Listener{Name: "second", Address: second, Protocol: HTTP1, Cluster: "web"}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := get(client, "http://"+second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("before the configuration is in place: %q, %v", got, err)
		}
		if refused {
			change.Abort()
			continue
		}
		change.Commit()
		if got, err := get(client, "http://"+second); err != nil || got != "a / hi" {
			t.Errorf("once the configuration is in place: %q, %v", got, err)
		}
	}
}
