package node

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// choices makes valid configurations at random.
type choices struct {
	*rand.Rand
	servers []string // addresses
	token   string   // file with the admin token
}

func (c choices) maybe() bool { return c.IntN(2) == 0 }

// configuration returns a configuration of which each part has two or three variants.
func (c choices) configuration(base *config.Config) *config.Config {
	next := *base
	next.Identities, next.Functions, next.Listeners = nil, nil, nil
	if c.maybe() {
		next.Identities = append(next.Identities, identity("pump", []string{pumpToken, pressToken}[c.IntN(2)], []string{"a/#", "b/#", "#"}[c.IntN(3)]))
	}
	if c.maybe() {
		next.Identities = append(next.Identities, identity("third", "the token of a third client", "a/#"))
	}
	for _, address := range []string{"tcp://127.0.0.1:0", "tls://127.0.0.1:0", "tcp://localhost:0"} {
		if len(next.Listeners) == 0 || c.maybe() {
			next.Listeners = append(next.Listeners, config.Listener{Address: address, Validate: []config.Validation{config.ValidateFull, config.ValidateOff}[c.IntN(2)]})
		}
	}
	c.Shuffle(len(next.Listeners), func(i, j int) {
		next.Listeners[i], next.Listeners[j] = next.Listeners[j], next.Listeners[i]
	})
	if c.maybe() {
		next.Functions = append(next.Functions, config.Function{Name: "echo", Run: "obey", Observe: []string{[]string{"do/#", "other/#"}[c.IntN(2)]}})
	}
	if c.maybe() {
		next.Functions = append(next.Functions, config.Function{Name: "sums", Run: "checksum", Observe: []string{"in/#"}})
	}
	next.Live.Functions, next.Live.Sensors = c.maybe(), c.maybe()
	next.Limits.Window = config.Size([]int{64 << 10, 256 << 10}[c.IntN(2)])
	next.Limits.MaxSubscriptions = 1 + c.IntN(2)
	next.Proxy = nil
	if i := c.IntN(3); i < 2 {
		next.Proxy = inFrontOf(c.servers[i])
	}
	next.Admin = config.Admin{Address: "127.0.0.1:0"}
	if c.maybe() {
		next.Admin.TokenFile = c.token
	}
	if c.maybe() {
		next.Admin.MetricsAddress = "127.0.0.1:0"
	}
	if c.maybe() {
		next.Admin.Hosts = []string{"edge-1.plant"}
	}
	return &next
}

// behaviour describes what a node does, as clients see it.
func behaviour(t *testing.T, n *Node) string {
	t.Helper()
	var b strings.Builder
	for _, l := range n.listeners {
		fmt.Fprintf(&b, "listener %s", l.cfg.Scheme())
		if l.cfg.Scheme() == "tcp" {
			fmt.Fprintf(&b, ", drops invalid payloads: %v", validates(t, n, l.bound.Addr()))
		}
		fmt.Fprintln(&b)
	}
	for _, f := range n.functions.List() {
		fmt.Fprintln(&b, "function", f.Name, f.Observe, f.Running, f.Error)
	}
	for _, token := range []string{pumpToken, pressToken, "the token of a third client"} {
		fmt.Fprintln(&b, "client with", token+":", permitted(n, token))
	}
	fmt.Fprintln(&b, "sensors:", n.sensors != nil)
	if n.config().Proxy != nil {
		_, body := get(t, through(t, n))
		fmt.Fprintln(&b, "proxy:", body)
	}
	for _, path := range []string{"ping", "metrics", "api/proxy"} {
		status, _ := get(t, n.Admin()+path)
		fmt.Fprintln(&b, "admin:", path, status)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.Admin()+"ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "edge-1.plant"
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	fmt.Fprintln(&b, "admin by name:", response.StatusCode)
	if n.Metrics() != "" {
		_, body := get(t, n.Metrics())
		fmt.Fprintln(&b, "scrapers see the proxy:", strings.Contains(body, "ferry_proxy_connections"))
	}
	return b.String()
}

// validates reports whether a listener drops a payload that is no CBOR.
func validates(t *testing.T, n *Node, addr net.Addr) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := stream.Dial(ctx, tcp.New(nil), addr.String(), &stream.Config{Token: []byte(n.id.Token()), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(c)
	if err := c.Send(ctx, ferry.Message{Tag: "broken", Type: ferry.CBOR, Payload: []byte{0xa1}}); err != nil {
		t.Fatal(err)
	}
	return c.Flush(ctx) != nil
}

// permitted describes what the holder of a token may do.
func permitted(n *Node, token string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := stream.Dial(ctx, n.inside, insideAddr, &stream.Config{Token: []byte(token), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "refused"
	}
	defer closeQuietly(c)
	text := "accepted"
	for _, tag := range []string{"a/1", "b/1"} {
		err := c.Send(ctx, ferry.Message{Tag: tag, Payload: []byte("x")})
		text += fmt.Sprintf(", publishes %s: %v", tag, err == nil)
	}
	for _, filter := range []string{"a/#", "a/1", "b/#"} { // the limit of subscriptions is 1 or 2
		_, err := c.Start(ctx, stream.Function{Observe: []string{filter}, Handler: stream.Sink(func(context.Context, *ferry.Message) error { return nil })})
		text += fmt.Sprintf(", observes %s: %v", filter, err == nil)
	}
	return text
}

// TestApplyAtRandom: after any sequence of valid configurations, a node does what a node does that was started with the last one.
func TestApplyAtRandom(t *testing.T) {
	c := choices{servers: []string{web(t, "a server"), web(t, "another server")}, token: filepath.Join(t.TempDir(), "token")}
	writeSecret(t, c.token, "token-of-the-admin-server")
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			c.Rand = rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same sequence each time
			base := quiet(t)
			running := build(t, c.configuration(base))
			run(t, running)
			for range 8 {
				next := c.configuration(base)
				if err := running.Apply(next); err != nil {
					t.Fatal(err)
				}
				copied := *next
				copied.DataDir = filepath.Join(t.TempDir(), "data")
				fresh := build(t, &copied)
				stop := run(t, fresh)
				if got, want := behaviour(t, running), behaviour(t, fresh); got != want {
					t.Fatalf("after a reload:\n%s\nafter a start:\n%s", got, want)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
