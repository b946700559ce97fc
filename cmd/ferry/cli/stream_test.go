package cli

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/format/all"
	"example.com/ferry/internal/pki"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
)

// testNode is a running node, with the values that pub and sub need to connect.
type testNode struct {
	broker    *broker.Broker
	dir       string // data directory
	quic, tcp string // addresses
}

func startNode(t *testing.T) testNode {
	t.Helper()
	n := testNode{dir: t.TempDir()}
	id, err := pki.Open(pki.Config{Dir: n.dir})
	if err != nil {
		t.Fatal(err)
	}
	h, err := broker.New(broker.Config{
		Formats: all.Formats(), Log: slog.New(slog.DiscardHandler),
		Identify: func(token []byte, _ *tls.ConnectionState) (*broker.Identity, error) {
			if !id.CheckToken(string(token)) {
				return nil, errors.New("wrong token")
			}
			return &broker.Identity{Name: "local", Publish: []string{"open/#"}, Subscribe: []string{"#"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	n.broker = h
	listen := func(tr transport.Transport) string {
		l, err := tr.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		serving.Go(func() { _ = h.Serve(t.Context(), l, broker.ValidateFull) })
		return tr.Scheme() + "://" + l.Addr().String()
	}
	n.quic = listen(quic.New(&quic.Config{ServerTLS: id.ServerTLS()}))
	n.tcp = listen(tcp.New(nil))
	t.Cleanup(serving.Wait)
	return n
}

// subscribe starts a ferry sub whose last argument is a unique tag filter. It returns when the node has the subscription.
func (n testNode) subscribe(t *testing.T, addr string, args ...string) <-chan outcome {
	t.Helper()
	done := make(chan outcome, 1)
	go func() { done <- ferryWith("", append([]string{"sub", "-a", addr, "--data-dir", n.dir}, args...)...) }()
	n.await(args[len(args)-1])
	return done
}

// await waits until a client has subscribed to filter.
func (n testNode) await(filter string) {
	subscribed := func(s broker.SubscriptionStats) bool { return s.Filter == filter }
	for !slices.ContainsFunc(n.broker.Snapshot().Subscriptions, subscribed) {
		time.Sleep(5 * time.Millisecond)
	}
}

func (n testNode) publish(t *testing.T, addr, stdin string, args ...string) {
	t.Helper()
	if got := ferryWith(stdin, append([]string{"pub", "-q", "-a", addr, "--data-dir", n.dir}, args...)...); got != (outcome{}) {
		t.Errorf("ferry pub %q: got %+v, want success without a word", args, got)
	}
}

func TestPubSub(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, c := range []struct {
		name, stdin string
		pub, sub    []string
		want        []string // of each line: type and payload
	}{
		{
			"JSON lines", "{\"a\": 1.50}\n\n{\"a\":\"<é>\"}\r\n{\"a\":[3]}", nil,
			[]string{"-n3"},
			[]string{`"type":"json","payload":{"a":1.50}}`, `"type":"json","payload":{"a":"<é>"}}`, `"type":"json","payload":{"a":[3]}}`},
		},
		{"JSON over several lines", "{\n\"a\":\n1\n}\n", nil, []string{"-n1"}, []string{`"type":"json","payload":{"a":1}}`}},
		{"CBOR, guessed", event, nil, []string{"-n1"}, []string{`"type":"cbor","payload":` + `{"deviceName":"pump-1","origin":1602168089665565200,"readings":[{"value":"30.5","ok":true,"level":0.1,"tags":null},{"binaryValue":"yv4AAQ=="}]}}`}},
		{"Y3", noise, []string{"-t", "y3"}, []string{"-n1"}, []string{`"type":"y3","payload":{"0x01":{"0x10":{"0x11":"3fc0","0x12":"85faf8a000","0x13":"73"}}}}`}},
		{
			"names for the keys of Y3", noise,
			[]string{"-t", "y3"},
			[]string{"-n1", "--schema", "../../../examples/messages/noise.json", "--where", "event.noise.level > 1"},
			[]string{`"type":"y3","payload":{"event":{"noise":{"level":1.5,"time":1600000000,"from":"s"}}}}`},
		},
		{
			"Y3 of another shape than the schema's", "\x01\x01\x05",
			[]string{"-t", "y3"},
			[]string{"-n1", "--schema", "../../../examples/messages/noise.json"},
			[]string{`"type":"y3","payload":{"0x01":"05"}}`},
		},
		{
			"names for the numbers of protobuf", "\x0a\x05\x0d\x00\x00\xc0\x3f",
			[]string{"-t", "protobuf"},
			[]string{"-n1", "--schema", "../../../examples/messages/noise.desc", "--message", "example.Event", "--where", "noise.level > 1"},
			[]string{`"type":"protobuf","payload":{"noise":{"level":1.5}}}`},
		},
		{"raw", "\x00\xff", []string{"-t", "raw", "--ack"}, []string{"-n1"}, []string{`"type":"raw","payload":"00ff","encoding":"hex"}`}},
		{"filtered", `{"a":1}` + "\n" + `{"a":40}`, []string{"-t", "json"}, []string{"-n1", "--where", "a > 30"}, []string{`"type":"json","payload":{"a":40}}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, addr := range []string{n.quic, n.tcp} {
				tag := "open/" + c.name + addr[:4]
				done := n.subscribe(t, addr, append(c.sub, tag)...)
				n.publish(t, addr, c.stdin, append(c.pub, tag)...)
				got := <-done
				lines := strings.SplitAfter(got.stdout, "\n")
				if got.status != 0 || got.stderr != "" || len(lines) != len(c.want)+1 {
					t.Fatalf("got %+v, want %d lines", got, len(c.want))
				}
				for i, want := range c.want {
					var line struct {
						Tag    string
						Time   time.Time
						Source uint32
					}
					if err := json.Unmarshal([]byte(lines[i]), &line); err != nil || line.Tag != tag || line.Source == 0 || line.Time.Year() < 2020 {
						t.Errorf("line %d: %v: %+v", i, err, line)
					}
					if !strings.HasSuffix(lines[i], want+"\n") {
						t.Errorf("line %d: got %s, want its end to be %s", i, lines[i], want)
					}
				}
			}
		})
	}
}

// TestSubFilters: each filter is a subscription of its own, wherever it stands among the flags.
func TestSubFilters(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	done := n.subscribe(t, n.tcp, "open/a/+", "-o", "raw", "open/b", "-n", "3", "open/a/#")
	n.await("open/a/+")
	n.await("open/b")
	n.publish(t, n.tcp, `{"v":1}`, "open/b")
	n.publish(t, n.tcp, `{"v":3}`, "open/a/1") // matches two of them
	if got := <-done; got.status != 0 || got.stderr != "" || !slices.Contains([]string{
		`{"v":1}` + "\n" + `{"v":3}` + "\n" + `{"v":3}` + "\n", `{"v":3}` + "\n" + `{"v":3}` + "\n" + `{"v":1}` + "\n", `{"v":3}` + "\n" + `{"v":1}` + "\n" + `{"v":3}` + "\n",
	}, got.stdout) {
		t.Errorf("got %+v, want 1 once and 3 twice", got)
	}
}

// TestRawPipes pipes the output of sub -o raw into get and pub.
func TestRawPipes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	done := n.subscribe(t, n.quic, "-n1", "-o", "raw", "open/cbor")
	n.publish(t, n.quic, event, "-t", "cbor", "open/cbor")
	if got := <-done; got != (outcome{stdout: event}) {
		t.Errorf("CBOR: got %+v, want the event as it is", got)
	}
	lines := "{\"a\":1}\n{\"a\":2}\n"
	done = n.subscribe(t, n.quic, "--count=2", "--output=raw", "open/json")
	n.publish(t, n.quic, lines, "-t", "json", "open/json")
	if got := <-done; got != (outcome{stdout: lines}) {
		t.Errorf("JSON: got %+v, want %q", got, lines)
	}
}

func TestPubSubFailures(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	other := filepath.Join(t.TempDir(), "other") // the data directory of another node
	if _, err := pki.Open(pki.Config{Dir: other}); err != nil {
		t.Fatal(err)
	}
	dead := "tcp://127.0.0.1:1"
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"no node and no data directory", "{}", []string{"pub", "-a", dead, "--data-dir", filepath.Join(other, "none"), "open/a"}, "is a node running? start one with: ferry run"},
		{"no node", "{}", []string{"pub", "-a", dead, "--data-dir", n.dir, "open/a"}, "refused\nis a node running? start one with: ferry run"},
		{"no token file", "{}", []string{"pub", "-a", n.tcp, "--token-file", filepath.Join(other, "none"), "open/a"}, "none: no such file"},
		{"another node's token", "{}", []string{"pub", "-a", n.tcp, "--data-dir", other, "open/a"}, "the node does not know this token"},
		{"another node's authority", "{}", []string{"sub", "-a", n.quic, "--data-dir", other, "#"}, "name the node's ca.pem with --ca"},
		{"bad CA file", "{}", []string{"sub", "-a", n.quic, "--data-dir", n.dir, "--ca", filepath.Join(n.dir, "token"), "#"}, "holds no certificate in PEM"},
		{"forbidden tag", "{}", []string{"pub", "-a", n.tcp, "--data-dir", n.dir, "closed/a"}, `publish on "closed/a": native: forbidden`},
		{"nothing to publish", "\n", []string{"pub", "-a", n.tcp, "--data-dir", n.dir, "open/a"}, "standard input is empty: nothing to publish"},
		{"bad line", "{}\n{}\n{]\n", []string{"pub", "-a", n.tcp, "--data-dir", n.dir, "-t", "json", "open/a"}, "line 3 of standard input, which has one message a line: json: "},
		{"long line", `"` + strings.Repeat("a", 100<<10) + `"`, []string{"pub", "-a", n.tcp, "--data-dir", n.dir, "--max", "70KiB", "open/a"}, "line 1 of standard input: more than 71680 bytes"},
		{"long message", strings.Repeat("a", 2<<20), []string{"pub", "-a", n.tcp, "--data-dir", n.dir, "-t", "raw", "open/a"}, "the node takes at most"},
		{"invalid message", event[:50], []string{"pub", "-a", n.tcp, "--data-dir", n.dir, "-t", "cbor", "open/a"}, "standard input is no valid cbor message: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith(c.stdin, c.args...)
			if got.status != statusFailed || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
				t.Errorf("got %+v, want status 1 and %q", got, c.want)
			}
		})
	}
	if got := ferryWith("{}\n{}\n{]\n", "pub", "-a", n.tcp, "--data-dir", n.dir, "open/a"); !strings.HasSuffix(got.stderr, "\nmessages published before: 2\n") {
		t.Errorf("got %+v, want to hear of the two before", got)
	}
}
