package node

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/pki"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/node/config"
	"example.com/ferry/protocol/mqtt"
)

// mqttBroker is another broker, which confirms what it gets and delivers what the test says.
type mqttBroker struct {
	t        *testing.T
	addr     string
	received chan string // "user:password topic payload"
	conns    chan net.Conn
	ended    sync.WaitGroup
}

// newMQTTBroker starts a broker; secure, if not nil, is its TLS.
func newMQTTBroker(t *testing.T, secure *tls.Config) *mqttBroker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &mqttBroker{t: t, addr: ln.Addr().String(), received: make(chan string, 100), conns: make(chan net.Conn, 100)}
	if secure != nil {
		ln = tls.NewListener(ln, secure)
	}
	var mu sync.Mutex
	var all []net.Conn
	b.ended.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			b.ended.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range all {
			_ = c.Close()
		}
		mu.Unlock()
		b.ended.Wait()
	})
	return b
}

func (b *mqttBroker) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	var l mqtt.Limits
	var buf []byte
	user := ""
	chunk := make([]byte, 4096)
	for {
		p, need, err := mqtt.Next(buf, l)
		if err != nil {
			b.t.Error(err)
			return
		}
		if need > 0 {
			n, err := c.Read(chunk)
			if err != nil {
				return
			}
			buf = append(buf, chunk[:n]...)
			continue
		}
		var out []byte
		switch p.Kind {
		case mqtt.Connect:
			v, err := mqtt.ParseConnect(p)
			if err != nil {
				b.t.Error(err)
			}
			l.Version, user = mqtt.V5, string(v.User)+":"+string(v.Password)
			out = mqtt.AppendConnack(nil, mqtt.V5, &mqtt.ConnackPacket{})
		case mqtt.Subscribe:
			v, err := mqtt.ParseSubscribe(p)
			if err != nil {
				b.t.Error(err)
			}
			out = mqtt.AppendSuback(nil, mqtt.V5, &mqtt.SubackPacket{Kind: mqtt.Suback, ID: v.ID, Codes: make([]byte, v.Filters.Len())})
			b.conns <- c
		case mqtt.Publish:
			v, err := mqtt.ParsePublish(p)
			if err != nil {
				b.t.Error(err)
			}
			b.received <- user + " " + string(v.Topic) + " " + string(v.Payload)
			out = mqtt.AppendAck(nil, mqtt.V5, mqtt.AckPacket{Kind: mqtt.Puback, ID: v.ID})
		case mqtt.Pingreq:
			out = mqtt.AppendPingresp(nil)
		}
		if _, err := c.Write(out); err != nil {
			return
		}
		buf = buf[p.Size:]
	}
}

func (b *mqttBroker) expect(want string) {
	b.t.Helper()
	select {
	case got := <-b.received:
		if got != want {
			b.t.Fatalf("the broker got %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		b.t.Fatalf("the broker did not get %q", want)
	}
}

// awaitBridge waits until the only bridge of n is in a state.
func awaitBridge(t *testing.T, n *Node, what string, holds func(mqttbridge.Stats) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if all := n.bridges.Stats(); len(all) == 1 && holds(all[0]) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the bridge is not %s: %+v", what, n.bridges.Stats())
		}
	}
}

// TestBridge: a node passes its tags on to another broker over TLS, and publishes the broker's topics, and shows it. A reload adds,
// changes and removes bridges, and refuses what it cannot change, by name.
func TestBridge(t *testing.T) {
	n := build(t, quiet(t))
	run(t, n)
	src := dialTCP(t, addressOf(t, n, "tcp://127.0.0.1:0"), n.id.Token(), nil)
	send := func(tag, text string) {
		t.Helper()
		if err := src.Send(t.Context(), ferry.Message{Tag: tag, Payload: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		if err := src.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := observe(t, dialTCP(t, addressOf(t, n, "tcp://127.0.0.1:0"), n.id.Token(), nil), "cloud/#")

	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, pki.CAFile)
	secure, plain := newMQTTBroker(t, id.ServerTLS()), newMQTTBroker(t, nil)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := config.Bridge{
		Name: "cloud", Address: "mqtts://" + secure.addr, CAFile: ca, User: "edge", PasswordFile: password,
		In: []string{"in/#"}, InPrefix: "cloud/", Out: []string{"a/#"}, OutPrefix: "site/",
	}
	apply(t, n, func(c *config.Config) { c.Bridges = []config.Bridge{b} })
	send("a/1", "1")
	secure.expect("edge:secret site/a/1 1")
	c := <-secure.conns
	in, err := mqtt.AppendPublish(nil, mqtt.V5, &mqtt.PublishPacket{Topic: []byte("in/x"), Payload: []byte("2")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(in); err != nil {
		t.Fatal(err)
	}
	if m := next(t, got); m.Tag != "cloud/in/x" || string(m.Payload) != "2" {
		t.Errorf("got %s %q", m.Tag, m.Payload)
	}
	awaitBridge(t, n, "done", func(s mqttbridge.Stats) bool { return s.Confirmed == 1 && s.Received == 1 })
	for path, want := range map[string]string{"metrics": `ferry_bridge_sent_total{bridge="cloud"} 1`, "api/bridges": `"sent":1,"received":1`, "ready": "ready"} {
		if text := fetch(t, n.Admin()+path); !strings.Contains(text, want) {
			t.Errorf("/%s has no %s", path, want)
		}
	}

	b.Address, b.CAFile, b.Out = "mqtt://"+plain.addr, "", []string{"b/#"}
	apply(t, n, func(c *config.Config) { c.Bridges = []config.Bridge{b} })
	send("a/1", "3")
	send("b/1", "4") // also while the bridge changes its connection
	plain.expect("edge:secret site/b/1 4")

	refused := b
	refused.Spool.Size = 2 << 20
	err = n.Apply(changed(n, func(c *config.Config) { c.Bridges = []config.Bridge{refused} }))
	if err == nil || !strings.Contains(err.Error(), "bridges[0].spool.size: this change needs a restart") {
		t.Errorf("got %v", err)
	}

	bad := b
	bad.Name, bad.Address = "bad", "mqtts://"+secure.addr // it does not trust the CA
	apply(t, n, func(c *config.Config) { c.Bridges = []config.Bridge{bad} })
	awaitBridge(t, n, "refused", func(s mqttbridge.Stats) bool { return s.Err != nil && strings.Contains(s.Err.Error(), "certificate") })
	send("b/1", "5")
	if text := fetch(t, n.Admin()+"ready"); !strings.Contains(text, "1 of 1 bridges are down, and messages to them are stored on disk: bad") {
		t.Errorf("/ready: %q", text)
	}
	bad.CAFile = ca
	apply(t, n, func(c *config.Config) { c.Bridges = []config.Bridge{bad} })
	secure.expect("edge:secret site/b/1 5")
	apply(t, n, func(c *config.Config) { c.Bridges = nil })
	if s := n.bridges.Stats(); len(s) != 0 {
		t.Errorf("got %+v", s)
	}
}
