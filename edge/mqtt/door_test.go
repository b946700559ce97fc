package mqtt_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/internal/certs/certstest"
	wire "example.com/ferry/protocol/mqtt"
)

// logLines are the lines of a log, from several goroutines.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// with returns how many lines have all words.
func (l *logLines) with(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

// TestRefusalsInLog: a client that is refused, and a message that is, are a line in the log with user, client, address and reason.
func TestRefusalsInLog(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{
		{Identity: broker.Identity{Name: "dev", Publish: []string{"a"}}, Password: secretHash, TokenHash: broker.HashToken([]byte("token"))},
		{Identity: broker.Identity{Name: "guest", Publish: []string{"#"}}, Open: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	var log logLines
	logger := slog.New(slog.NewTextHandler(&log, nil))
	ca := certstest.NewCA(t, "ca")
	server := ca.Issue(t, certstest.Leaf{CommonName: "server", Names: []string{"127.0.0.1"}})
	r := newRig(t, setup{broker: broker.Config{Identify: ids.Identify, Log: logger}, server: mqtt.Config{Log: logger}, listener: mqtt.ListenerConfig{Config: edge.Config{Anonymous: "guest"}}})
	r.broker.SetIdentities(ids)
	secure, err := r.server.Listen(mqtt.ListenerConfig{Config: edge.Config{Address: "127.0.0.1:0", TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{server.TLS(t)}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = secure.Drain(context.Background()) })

	for _, c := range []struct {
		name, user, password string
		will                 bool
		words                []string
	}{
		{"password", "dev", "wrong", false, []string{"user=dev", "client=dev-1", "not that of the user"}},
		{"token", "", "nothing", false, []string{"identity refused", "user=", "name=dev-1", "unknown token"}},
		{"another user", "other", "token", false, []string{"user=other", "client=dev-1", "not the name"}},
		{"no password", "dev", "", false, nil}, // and is not anonymous: the line is left out within a second of the one about the token
		{"will", "dev", "secret", true, []string{"user=dev", "client=dev-1", "publish"}},
	} {
		device := r.dial(wire.V311)
		device.greet("dev-1", func(p *wire.ConnectPacket) {
			if p.User = []byte(c.user); c.password != "" {
				p.Password = []byte(c.password)
			}
			if c.will {
				p.Will = &wire.Will{Topic: []byte("other")}
			}
		})
		if device.connack.Code == wire.Success {
			t.Errorf("%s: the client gets in", c.name)
		}
		device.closed()
		if n := log.with(append(c.words, "addr=127.0.0.1")...); n != 1 && c.words != nil {
			t.Errorf("%s: %d lines with %q in\n%s", c.name, n, c.words, log.text.String())
		}
	}
	r.connect(wire.V311, "anyone").quiet()

	device := r.connect(wire.V311, "dev-2", func(p *wire.ConnectPacket) { p.User, p.Password = []byte("dev"), []byte("secret") })
	for range 3 {
		device.send(wire.PublishPacket{QoS: 1, ID: 1, Topic: []byte("b"), Payload: []byte("1")})
		device.ack(wire.Puback, 1)
	}
	if n := log.with("message refused", "identity=dev", "client=dev-2", "addr=127.0.0.1", "err="); n != 1 {
		t.Errorf("%d lines about refused messages in\n%s", n, log.text.String())
	}

	if _, err := tls.Dial("tcp", r.listener.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca.Pool()}); err == nil {
		t.Error("TLS without TLS")
	}
	await(t, "the line about a client with TLS", func() bool { return log.with("speaks TLS", "addr=127.0.0.1", "level=WARN") == 1 })
	conn, err := net.Dial("tcp", secure.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(connectPacket(t, "plain")); err != nil {
		t.Fatal(err)
	}
	await(t, "the line about a client without TLS", func() bool { return log.with("does not speak TLS", "addr=127.0.0.1", "level=WARN") == 1 })
}
