package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/format/all"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
)

// quiet returns the default configuration with free ports, a temporary directory and no live input.
func quiet(t *testing.T) *config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Listeners = []config.Listener{{Address: "quic://127.0.0.1:0"}, {Address: "tcp://127.0.0.1:0"}}
	cfg.Admin.Address = "127.0.0.1:0"
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.Live = config.Live{Interval: 20 * time.Millisecond}
	cfg.Drain.Timeout = time.Minute // of a busy machine
	return cfg
}

// extensions returns the extensions of the tests' nodes, with more functions.
func extensions(more ...Function) Extensions {
	return Extensions{
		Formats: all.Formats(), Log: slog.New(slog.DiscardHandler),
		Functions: append(testFunctions(), more...), Worker: []string{os.Args[0], asWorker},
	}
}

func build(t *testing.T, cfg *config.Config, more ...Function) *Node {
	t.Helper()
	n, err := Build(cfg, extensions(more...))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run runs n until stop is called or the test ends. It returns when n is ready.
func run(t *testing.T, n *Node) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	var result error
	stopped := false
	stop = func() error {
		if cancel(); !stopped {
			stopped, result = true, <-ended
		}
		return result
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	select {
	case <-n.Ready():
	case err := <-ended:
		ended <- err
		t.Fatalf("the node did not start: %v", err)
	}
	return stop
}

// client connects to the node's listener of a scheme with a token.
func client(t *testing.T, n *Node, scheme, token string) (*stream.Client, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg := &stream.Config{Name: "test", Token: []byte(token), Log: slog.New(slog.DiscardHandler)}
	for _, a := range n.Addresses() {
		have, addr, _ := strings.Cut(a, "://")
		if have != scheme {
			continue
		}
		if scheme == "tcp" {
			return closed(t)(stream.Dial(ctx, tcp.New(nil), addr, cfg))
		}
		security, err := pki.ClientTLS(filepath.Join(n.config().DataDir, pki.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		return closed(t)(stream.Dial(ctx, quic.New(&quic.Config{ClientTLS: security}), addr, cfg))
	}
	t.Fatalf("no listener %s among %v", scheme, n.Addresses())
	return nil, nil
}

func closed(t *testing.T) func(*stream.Client, error) (*stream.Client, error) {
	return func(c *stream.Client, err error) (*stream.Client, error) {
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
		return c, err
	}
}

// observe starts a function that sends its messages to the returned channel.
func observe(t *testing.T, c *stream.Client, filter string) <-chan ferry.Message {
	t.Helper()
	got := make(chan ferry.Message, 1000)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := c.Start(ctx, stream.Function{Observe: []string{filter}, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		got <- in.Clone()
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func next(t *testing.T, from <-chan ferry.Message) ferry.Message {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("no message within 30 s")
		return ferry.Message{}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url) //nolint:noctx // a test's request to its own server
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestSensorsOverQUIC checks the default of ferry run: sensor readings cross the node over QUIC, and the functions publish averages
// and alerts.
func TestSensorsOverQUIC(t *testing.T) {
	cfg := quiet(t)
	cfg.Live.Sensors, cfg.Live.Functions = true, true
	n := build(t, cfg)
	stop := run(t, n)
	if status, body := get(t, n.Admin()+"ready"); status != 200 {
		t.Errorf("/ready: %d %s", status, body)
	}
	c, err := client(t, n, "quic", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	averages := observe(t, c, "averages/+/cpu")
	alerts := observe(t, c, "alerts/demo/cpu")
	if m := next(t, averages); m.Type != ferry.CBOR {
		t.Errorf("an average in %v", m.Type)
	}
	hot := `{"deviceName":"demo","sourceName":"cpu","readings":[{"resourceName":"cpu","value":"99"}]}`
	cold := strings.Replace(hot, "99", "12", 1)
	for _, payload := range []string{cold, hot} {
		if err := c.Send(t.Context(), ferry.Message{Tag: "averages/demo/cpu", Type: ferry.JSON, Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
	}
	if m := next(t, alerts); string(m.Payload) != hot {
		t.Errorf("alert %s", m.Payload)
	}
	if err := n.functions.Stop("averages"); err != nil {
		t.Fatal(err)
	}
	if _, body := get(t, n.Admin()+"metrics"); !strings.Contains(body, `ferry_function_running{function="averages"} 0`) || strings.Contains(body, `ferry_queue_bytes{client="averages"`) {
		t.Error("/metrics still shows the stopped function")
	}
	for len(averages) > 0 {
		<-averages
	}
	if err := n.functions.Start("averages"); err != nil {
		t.Fatal(err)
	}
	next(t, averages)
	if err := n.functions.Start("none"); err == nil {
		t.Error("an unknown function was started")
	}
	if err := stop(); err != nil {
		t.Errorf("drain: %v", err)
	}
}

func TestIdentities(t *testing.T) {
	cfg := quiet(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a token in a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Identities = []config.Identity{
		{Name: "pump", Token: "the pump's own token", Publish: []string{"plant/+/pump"}},
		{Name: "reader", TokenFile: file, Subscribe: []string{"plant/#"}},
		{Name: "hashed", Token: "sha256:2eaa6bfb1fd697d64aee300962d49bb98779ffaf10cf01d76099d96e98b692d0", Subscribe: []string{"#"}, Publish: []string{"#"}, Verbs: []config.Verb{config.VerbSubscribe}},
	}
	n := build(t, cfg)
	run(t, n)
	for _, token := range []string{"", "wrong", "the pump's own token ", "sha256:2eaa6bfb1fd697d64aee300962d49bb98779ffaf10cf01d76099d96e98b692d0"} {
		if _, err := client(t, n, "tcp", token); err == nil {
			t.Errorf("token %q was accepted", token)
		} else if token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
	pump, err := client(t, n, "tcp", "the pump's own token")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := client(t, n, "quic", "a token in a file")
	if err != nil {
		t.Fatal(err)
	}
	got := observe(t, reader, "plant/1/#")
	if err := pump.Send(t.Context(), ferry.Message{Tag: "plant/1/pump", Payload: []byte("on")}); err != nil {
		t.Fatal(err)
	}
	if m := next(t, got); string(m.Payload) != "on" {
		t.Errorf("got %q", m.Payload)
	}
	if err := pump.Send(t.Context(), ferry.Message{Tag: "plant/1/valve", Payload: []byte("open")}); err == nil {
		t.Error("pump may publish for a valve")
	}
	hashed, err := client(t, n, "tcp", "a token known by its digest")
	if err != nil {
		t.Fatal(err)
	}
	if err := hashed.Send(t.Context(), ferry.Message{Tag: "plant/1/pump"}); err == nil {
		t.Error("hashed may publish, though its verbs are subscribe only")
	}
	if _, err := reader.Start(t.Context(), stream.Function{Observe: []string{"#"}, Handler: stream.Sink(nil)}); err == nil {
		t.Error("reader may observe everything")
	}
}

func TestDuplicateIdentities(t *testing.T) {
	for name, ids := range map[string][]config.Identity{
		"identities[1].token: the same token": {{Name: "a", Token: "a shared secret!"}, {Name: "b", Token: "a shared secret!"}},
		`identities[1].common_name: "x"`:      {{Name: "a", CommonName: "x"}, {Name: "b", CommonName: "x"}},
	} {
		cfg := quiet(t)
		cfg.Identities = ids
		if _, err := Build(cfg, Extensions{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"busy port", func(c *config.Config) { c.Listeners[1].Address = "tcp://" + busy.Addr().String() }, busy.Addr().String()},
		{"busy admin port", func(c *config.Config) { c.Admin.Address = busy.Addr().String() }, busy.Addr().String() + " is in use"},
		{"data directory that is a file", func(c *config.Config) { c.DataDir = file }, file},
		{"bad configuration", func(c *config.Config) { c.Listeners = nil }, "listeners: none"},
		{"durable stream on memory", func(c *config.Config) {
			c.Engine.Address = config.MemoryEngine
			c.Streams = []config.Stream{{Tags: config.Filters{"#"}, Delivery: config.AtLeastOnce}}
		}, "engine memory cannot promise at-least-once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := quiet(t)
			c.change(cfg)
			if _, err := Build(cfg, Extensions{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestFailedBuildReleasesPorts(t *testing.T) {
	cfg := quiet(t)
	first := build(t, cfg)
	addr := first.Addresses()[1]
	cfg.Listeners[1].Address, cfg.Admin.Address = addr, strings.TrimSuffix(strings.TrimPrefix(first.Admin(), "http://"), "/")
	first.Close()
	again := build(t, cfg) // the ports are free again
	again.Close()
}

func TestUnknownTransport(t *testing.T) {
	cfg := quiet(t)
	_, err := Build(cfg, Extensions{Transports: []Transport{}})
	if want := `unknown scheme "quic"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestCertificates uses the user's own server certificate, and clients that authenticate by certificate.
func TestCertificates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "other")
	other, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{
		Address: "tls://127.0.0.1:0", CertFile: filepath.Join(dir, pki.ServerFile), KeyFile: filepath.Join(dir, pki.ServerKeyFile),
		ClientCAFile: filepath.Join(dir, pki.CAFile),
	}}
	cfg.Identities = []config.Identity{{Name: "pump", CommonName: "pump-1", Publish: []string{"plant/pump"}}}
	cfg.Live.Functions = true
	n := build(t, cfg)
	run(t, n)
	_, addr, _ := strings.Cut(n.Addresses()[0], "://")
	for name, accepted := range map[string]bool{"pump-1": true, "pump-2": false, "": false} {
		security, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			certPEM, keyPEM, err := other.IssueClient(name)
			if err != nil {
				t.Fatal(err)
			}
			pair, err := tls.X509KeyPair(certPEM, keyPEM)
			if err != nil {
				t.Fatal(err)
			}
			security.Certificates = []tls.Certificate{pair}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := closed(t)(stream.Dial(ctx, tcp.NewTLS(&tcp.Config{ClientTLS: security}), addr, &stream.Config{Log: slog.New(slog.DiscardHandler)}))
		if (err == nil) != accepted {
			t.Errorf("certificate of %q: got %v, want accepted %v", name, err, accepted)
		}
		if err == nil {
			if err := c.Send(ctx, ferry.Message{Tag: "plant/pump", Payload: []byte("on")}); err != nil {
				t.Errorf("%s may not publish: %v", name, err)
			}
		}
	}
	for _, f := range n.functions.List() { // they connect in memory, without the user's certificate
		if !f.Running {
			t.Errorf("%s does not run: %s", f.Name, f.Error)
		}
	}
}

// TestClientsConnectByName checks that a client can verify the node by one of the configured names.
func TestClientsConnectByName(t *testing.T) {
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: "tls://127.0.0.1:0"}}
	cfg.Names = []string{"edge-1.plant", "192.0.2.7"}
	n := build(t, cfg)
	run(t, n)
	_, addr, _ := strings.Cut(n.Addresses()[0], "://")
	for name, accepted := range map[string]bool{"edge-1.plant": true, "192.0.2.7": true, "localhost": true, "edge-2.plant": false} {
		security, err := pki.ClientTLS(filepath.Join(cfg.DataDir, pki.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		security.ServerName = name
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		token, err := pki.ReadToken(filepath.Join(cfg.DataDir, pki.TokenFile))
		if err != nil {
			t.Fatal(err)
		}
		_, err = closed(t)(stream.Dial(ctx, tcp.NewTLS(&tcp.Config{ClientTLS: security}), addr, &stream.Config{
			Token: []byte(token), Log: slog.New(slog.DiscardHandler),
		}))
		if (err == nil) != accepted {
			t.Errorf("by name %s: got %v, want accepted %v", name, err, accepted)
		}
	}
}

// TestTransports holds that nodes have the transports that a configuration may name.
func TestTransports(t *testing.T) {
	schemes := make(map[string]bool)
	for _, tr := range Transports() {
		schemes[tr.Scheme] = true
		if got := tr.New(Security{}).Scheme(); got != tr.Scheme {
			t.Errorf("the transport of %s has the scheme %s", tr.Scheme, got)
		}
	}
	for _, d := range transport.Descriptors() {
		if !schemes[d.Scheme] {
			t.Errorf("no transport of a node has the scheme %s", d.Scheme)
		}
	}
	if len(schemes) != len(transport.Descriptors()) {
		t.Errorf("schemes %v, want those of transport.Descriptors", schemes)
	}
}

// TestFunctionsOverEachTransport has the node's own functions connect to its only listener.
func TestFunctionsOverEachTransport(t *testing.T) {
	for _, tr := range Transports() {
		t.Run(tr.Scheme, func(t *testing.T) {
			cfg := quiet(t)
			addr, socket := "127.0.0.1:0", ""
			if tr.Path {
				addr += "/ferry"
			}
			if tr.Local {
				socket = filepath.Join(t.TempDir(), "s")
				addr = socket
			}
			cfg.Listeners = []config.Listener{{Address: tr.Scheme + "://" + addr}}
			cfg.Live.Functions = true
			if tr.Missing != "" {
				if _, err := Build(cfg, Extensions{}); err == nil || !strings.Contains(err.Error(), tr.Missing) {
					t.Errorf("Build = %v, want an error with %q", err, tr.Missing)
				}
				return
			}
			n := build(t, cfg)
			run(t, n)
			if _, err := os.Stat(socket); err != nil && tr.Local {
				t.Errorf("no socket: %v", err)
			}
			for _, f := range n.functions.List() {
				if !f.Running {
					t.Errorf("%s does not run: %s", f.Name, f.Error)
				}
			}
		})
	}
}

func TestCertificateNames(t *testing.T) {
	got := certificateNames(&config.Config{Names: []string{"gate"}, Listeners: []config.Listener{
		{Address: "quic://0.0.0.0:1"}, {Address: "tls://edge-1.plant:1"}, {Address: "quic://10.0.0.7:1"}, {Address: "unix://s"}, {Address: "quic://:1"},
	}})
	if want := "[gate edge-1.plant 10.0.0.7]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestTagLevel(t *testing.T) {
	if got := tagLevel("a/b+c#d"); got != "a-b-c-d" {
		t.Errorf("got %s", got)
	}
}

func TestLog(t *testing.T) {
	var b strings.Builder
	out := newLog(config.Log{Level: "warn", Format: "json"}, &b)
	log := out.logger().With("part", 1)
	log.Info("no")
	log.Warn("yes")
	if got := b.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"msg":"yes","part":1}`) {
		t.Errorf("got %s", got)
	}
	b.Reset()
	out.set(config.Log{Level: "debug", Format: "text"})
	log.Debug("yes")
	if got := b.String(); !strings.HasSuffix(got, "level=DEBUG msg=yes part=1\n") {
		t.Errorf("after the change got %s", got)
	}
}
