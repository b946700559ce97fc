package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// changed returns a copy of n's configuration with a change. Lists must be replaced, not changed in place.
func changed(n *Node, change func(*config.Config)) *config.Config {
	next := *n.config()
	change(&next)
	return &next
}

// apply applies a change, which must be accepted.
func apply(t *testing.T, n *Node, change func(*config.Config)) {
	t.Helper()
	if err := n.Apply(changed(n, change)); err != nil {
		t.Fatal(err)
	}
}

// addressOf returns the bound address of the listener whose configured address is that.
func addressOf(t *testing.T, n *Node, configured string) string {
	t.Helper()
	for i, l := range n.config().Listeners {
		if l.Address == configured {
			_, addr, _ := strings.Cut(n.Addresses()[i], "://")
			return addr
		}
	}
	t.Fatalf("no listener %s in %v", configured, n.config().Listeners)
	return ""
}

// dialTCP connects with a token to an address of a tcp listener. The client notes in lost when its connection ends.
func dialTCP(t *testing.T, addr, token string, lost chan<- string) *stream.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	if lost != nil {
		log = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) { lost <- string(b) }), nil))
	}
	c, err := closed(t)(stream.Dial(ctx, tcp.New(nil), addr, &stream.Config{Name: "test", Token: []byte(token), Log: log}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

const (
	pumpToken  = "the token of the pump"
	pressToken = "the token of the press"
)

func identity(name, token string, tags ...string) config.Identity {
	return config.Identity{Name: name, Token: token, Publish: tags, Subscribe: tags}
}

func TestApplyIdentities(t *testing.T) {
	cfg := quiet(t)
	tokenFile := filepath.Join(t.TempDir(), "press")
	writeToken := func(token string) {
		t.Helper()
		if err := os.WriteFile(tokenFile, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeToken(pressToken)
	press := config.Identity{Name: "press", TokenFile: tokenFile, Publish: []string{"#"}, Subscribe: []string{"#"}}
	cfg.Identities = []config.Identity{identity("pump", pumpToken, "a/#", "b/#"), press}
	n := build(t, cfg)
	run(t, n)
	addr := addressOf(t, n, "tcp://127.0.0.1:0")
	pumpLost, pressLost := make(chan string, 100), make(chan string, 100)
	pump, pressed := dialTCP(t, addr, pumpToken, pumpLost), dialTCP(t, addr, pressToken, pressLost)
	a := observe(t, pump, "a/#")
	running, err := pump.Start(t.Context(), stream.Function{Observe: []string{"b/#"}, Handler: stream.Sink(func(context.Context, *ferry.Message) error { return nil })})
	if err != nil {
		t.Fatal(err)
	}

	apply(t, n, func(c *config.Config) { c.Identities = []config.Identity{identity("pump", pumpToken, "a/#"), press} })
	select {
	case <-running.Done():
	case <-time.After(time.Minute):
		t.Fatal("a subscription without a grant goes on")
	}
	var refused *native.Error
	if !errors.As(running.Err(), &refused) || refused.Code != native.CodeForbidden {
		t.Errorf("the function ended with %v, want forbidden", running.Err())
	}
	send(t, pressed, "a/1", "still observed")
	if m := next(t, a); string(m.Payload) != "still observed" {
		t.Errorf("got %q", m.Payload)
	}
	if len(pumpLost)+len(pressLost) > 0 {
		t.Error("a change of grants ended a connection")
	}

	writeToken("a new token of the press") // and the file says the same as before
	apply(t, n, func(*config.Config) {})
	if text := <-pressLost; !strings.Contains(text, "unauthenticated") {
		t.Errorf("the holder of the old token lost its connection with %s", text)
	}
	dialTCP(t, addr, "a new token of the press", nil)

	apply(t, n, func(c *config.Config) { c.Identities = []config.Identity{press} })
	if text := <-pumpLost; !strings.Contains(text, "unauthenticated") {
		t.Errorf("the removed identity lost its connection with %s", text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := stream.Dial(ctx, tcp.New(nil), addr, &stream.Config{Token: []byte(pumpToken)}); !errors.As(err, &refused) || refused.Code != native.CodeUnauthenticated {
		t.Errorf("a removed identity got %v", err)
	}
}

// TestApplyListeners adds, changes and removes listeners while messages flow over another one and over the removed one.
func TestApplyListeners(t *testing.T) {
	const stays, goes, comes = "tcp://127.0.0.1:0", "tcp://localhost:0", "tls://127.0.0.1:0"
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: goes}, {Address: stays}}
	cfg.Functions = []config.Function{{Name: "echo", Run: "obey", Observe: []string{"do/#"}}}
	n := build(t, cfg)
	run(t, n)
	token := n.id.Token()
	lost := make(chan string, 100)
	on := dialTCP(t, addressOf(t, n, stays), token, lost)
	got := observe(t, on, "flow/#")
	leaving := dialTCP(t, addressOf(t, n, goes), token, nil)
	stop, sent := make(chan struct{}), make(chan [2]int, 1)
	go func() {
		count := [2]int{}
		for {
			for i, c := range []*stream.Client{on, leaving} {
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				if err := c.Send(ctx, ferry.Message{Tag: fmt.Sprint("flow/", i), Payload: []byte{1}}); err == nil {
					count[i]++
				}
				cancel()
			}
			select {
			case <-stop:
				_ = on.Flush(context.Background())
				sent <- count
				return
			default:
			}
		}
	}()
	total := 0 // messages that have arrived
	for tags := map[string]bool{}; len(tags) < 2; total++ {
		tags[next(t, got).Tag] = true
	}
	apply(t, n, func(c *config.Config) {
		c.Listeners = []config.Listener{{Address: stays, Validate: config.ValidateOff}, {Address: comes}}
	})
	if len(n.Addresses()) != 2 {
		t.Errorf("got the addresses %v", n.Addresses())
	}
	if _, err := client(t, n, "tcp", token); err != nil {
		t.Error(err)
	}
	apply(t, n, func(c *config.Config) { c.Listeners = []config.Listener{{Address: stays}} })
	if list := n.functions.List(); len(list) != 1 || !list[0].Running {
		t.Errorf("a function does not run without the listener: %+v", list)
	}
	close(stop)
	var count [2]int
	for ; ; total++ {
		select {
		case <-got:
			continue
		case count = <-sent:
		case <-time.After(30 * time.Second):
			t.Fatal("the publisher does not end")
		}
		for sum := count[0] + count[1]; total < sum; total++ {
			next(t, got)
		}
		break
	}
	if count[0] == 0 || count[1] == 0 || len(lost) > 0 {
		t.Errorf("sent %v, and the connection that stays lost %d times", count, len(lost))
	}
}

// TestApplyRefusesAsAWhole: if any section refuses, nothing of the file is applied, and each reason is named.
func TestApplyRefusesAsAWhole(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	cfg := quiet(t)
	cfg.Identities = []config.Identity{identity("pump", pumpToken, "#")}
	cfg.Functions = []config.Function{{Name: "echo", Run: "obey", Observe: []string{"do/#"}}}
	n := build(t, cfg)
	run(t, n)
	before := n.Addresses()
	c := dialTCP(t, addressOf(t, n, "tcp://127.0.0.1:0"), pumpToken, nil)
	done := observe(t, c, "done/#")
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, section, want string
		change              func(*config.Config)
	}{
		{"a busy port", "listeners", busy.Addr().String() + " is in use", func(c *config.Config) {
			c.Listeners = append(slices.Clone(c.Listeners), config.Listener{Address: "tcp://" + busy.Addr().String()})
		}},
		{"a data directory", "data_dir", "data_dir: this change needs a restart", func(c *config.Config) { c.DataDir = t.TempDir() }},
		{"cpu", "cpu", "cpu.queue: this change needs a restart", func(c *config.Config) { c.CPU.Queue = 5000 }},
		{"max_frame", "limits", "limits.max_frame: this change needs a restart", func(c *config.Config) { c.Limits.MaxFrame *= 2 }},
		{"the window of streams", "limits", "limits.call_stream_window: this change needs a restart", func(c *config.Config) { c.Limits.CallStreamWindow /= 2 }},
		{"a receive window", "listeners", "listeners[0].receive_window: this change needs a restart", func(c *config.Config) {
			c.Listeners = slices.Clone(c.Listeners)
			c.Listeners[0].ReceiveWindow = 1 << 20
		}},
		{"the first heavy function", "functions", "functions[1].cpu: the first heavy function needs a restart", func(c *config.Config) {
			c.Functions = append(slices.Clone(c.Functions), config.Function{Name: "sums", Run: "checksum", Observe: []string{"a"}, CPU: config.Heavy})
		}},
		{"a worker that does not start", "functions", "functions[1]: ", func(c *config.Config) {
			c.Functions = append(slices.Clone(c.Functions), config.Function{Name: "broken", Command: []string{broken}, Observe: []string{"a"}})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := n.Apply(changed(n, func(c *config.Config) {
				tt.change(c)
				c.Identities = nil // would cut the client
				c.Live.Functions = true
			}))
			var refused *Refused
			if !errors.As(err, &refused) || refused.Section != tt.section || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a refusal of %s: %s", err, tt.section, tt.want)
			}
			send(t, c, "do/"+tt.section, "a")
			if m := next(t, done); m.Tag != "done/"+tt.section {
				t.Errorf("got a message on %s", m.Tag)
			}
			if got := n.Addresses(); !slices.Equal(got, before) || len(n.functions.List()) != 1 {
				t.Errorf("after a refusal: %v and %d functions", got, len(n.functions.List()))
			}
		})
	}
	if err := n.Apply(changed(n, func(c *config.Config) { c.DataDir, c.CPU.Tokens = "elsewhere", 9 })); err == nil ||
		!strings.Contains(err.Error(), "data_dir: ") || !strings.Contains(err.Error(), "cpu.tokens: ") {
		t.Errorf("got %v, want both reasons", err)
	}
}

// TestApplyFunctions adds, changes and removes functions. One that does not change keeps its connection and its statistics.
func TestApplyFunctions(t *testing.T) {
	echo := config.Function{Name: "echo", Run: "obey", Observe: []string{"do/#"}}
	n, c, _ := started(t, []config.Function{echo, {Name: "other", Run: "checksum", Observe: []string{"a"}}})
	done := observe(t, c, "done/#")
	send(t, c, "do/1", "a")
	next(t, done)
	apply(t, n, func(cfg *config.Config) {
		cfg.Functions = []config.Function{
			{Name: "worker", Run: "obey", Observe: []string{"work/#"}, CPU: config.Worker},
			echo,
			{Name: "other", Run: "checksum", Observe: []string{"b"}},
		}
		cfg.Live.Functions = true
	})
	var got []string
	for _, f := range n.functions.List() {
		got = append(got, fmt.Sprintf("%s%v%v%d", f.Name, f.Observe, f.Running, f.Handled))
	}
	want := []string{"averages[sensors/#]true0", "alerts[averages/#]true0", "worker[work/#]true0", "echo[do/#]true1", "other[b]true0"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	send(t, c, "work/1", "a")
	next(t, done)
	if err := n.functions.Stop("echo"); err != nil {
		t.Fatal(err)
	}
	removed := n.functions.all()[2]
	apply(t, n, func(cfg *config.Config) { cfg.Functions, cfg.Live.Functions = []config.Function{echo}, false })
	if err := removed.start(t.Context()); err == nil || removed.state().Running {
		t.Errorf("the removed function %s was started: %v", removed.Name, err)
	}
	if list := n.functions.List(); len(list) != 1 || list[0].Running {
		t.Errorf("got %+v, want only the function that was stopped", list)
	}
}

// TestApplyAroundTheRun: a node applies nothing before it is ready and after it began to drain.
func TestApplyAroundTheRun(t *testing.T) {
	n := build(t, quiet(t))
	if err := n.Apply(n.config()); err == nil {
		t.Error("a node that does not run applied a configuration")
	}
	stop := run(t, n)
	if err := n.Apply(n.config()); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := n.Apply(n.config()); err == nil {
		t.Error("a node that has stopped applied a configuration")
	}
}

// connectedFirst is a transport that calls a function between the TLS handshake and the first byte of a client.
type connectedFirst struct {
	transport.Transport
	connected func()
}

func (c connectedFirst) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	conn, err := c.Transport.Dial(ctx, addr)
	if c.connected != nil {
		c.connected()
	}
	return conn, err
}

// TestApplyClientCA: other client CAs disconnect the clients that a certificate has identified, and no others.
func TestApplyClientCA(t *testing.T) {
	dir := t.TempDir()
	before, after := certstest.NewCA(t, "before"), certstest.NewCA(t, "after")
	cfg := quiet(t)
	listener := config.Listener{Address: "tls://127.0.0.1:0", ClientCAFile: before.Write(t, dir, "before")}
	cfg.Listeners = []config.Listener{listener}
	cfg.Identities = []config.Identity{{Name: "pump", CommonName: "pump-1", Subscribe: []string{"#"}}}
	n := build(t, cfg)
	run(t, n)
	dial := func(ca *certstest.CA, token string, lost chan<- string, connected func()) error {
		security, err := pki.ClientTLS(filepath.Join(cfg.DataDir, pki.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		security.Certificates = []tls.Certificate{ca.Issue(t, certstest.Leaf{CommonName: "pump-1"}).TLS(t)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		log := slog.New(slog.NewTextHandler(writerFunc(func(b []byte) { lost <- string(b) }), nil))
		over := connectedFirst{tcp.NewTLS(&tcp.Config{ClientTLS: security}), connected}
		_, err = closed(t)(stream.Dial(ctx, over, addressOf(t, n, listener.Address), &stream.Config{Token: []byte(token), Log: log}))
		return err
	}
	certified, tokened := make(chan string, 100), make(chan string, 100)
	if err := errors.Join(dial(before, "", certified, nil), dial(before, n.id.Token(), tokened, nil)); err != nil {
		t.Fatal(err)
	}
	change := func() {
		apply(t, n, func(c *config.Config) {
			listener.ClientCAFile = after.Write(t, dir, "after")
			c.Listeners = []config.Listener{listener}
		})
	}
	if err := dial(before, "", make(chan string, 100), change); err == nil {
		t.Error("a client of the old CA that said HELLO after the change is accepted")
	}
	if text := <-certified; !strings.Contains(text, "certificate authorities of this listener have changed") {
		t.Errorf("the client of the old CA lost its connection with %s", text)
	}
	if err := dial(after, "", make(chan string, 100), nil); err != nil {
		t.Errorf("a client of the new CA: %v", err)
	}
	if err := dial(before, "", make(chan string, 100), nil); err == nil {
		t.Error("a client of the old CA is accepted")
	}
	if len(tokened) > 0 {
		t.Errorf("the client with a token lost its connection: %s", <-tokened)
	}
}
