package mqttbridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/format/all"
	"example.com/ferry/link"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

var discard = slog.New(slog.DiscardHandler)

const patience = time.Minute // for what must happen

// node is a broker of ferry.
type node struct {
	t      *testing.T
	tr     transport.Transport
	broker *broker.Broker
	local  *broker.Listener
}

func newNode(t *testing.T) *node {
	t.Helper()
	b, err := broker.New(broker.Config{Node: "edge", Identify: broker.Anyone, Formats: all.Formats(), Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, tr: memory.New(nil), broker: b, local: b.NewLocalListener(&net.UnixAddr{Name: "bridge", Net: "unix"}, broker.ValidateFull)}
	l, err := n.tr.Listen(t.Context(), "edge")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), l, broker.ValidateFull) }()
	t.Cleanup(func() {
		_ = l.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		_ = b.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return n
}

// bridge connects the node to a broker.
func (n *node) bridge(dial func(context.Context) (net.Conn, error), change func(*mqttbridge.Config)) *mqttbridge.Bridge {
	n.t.Helper()
	cfg := mqttbridge.Config{
		Config: link.Config{
			Name: "cloud", Spool: spool.Config{Dir: n.t.TempDir()}, MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond, Log: discard,
		},
		Node: "edge", Broker: n.broker, Listener: n.local,
		Target: mqttbridge.Target{Dial: dial, In: []string{"in/#"}, Out: []string{"out/#"}, InPrefix: "cloud/", OutPrefix: "site/"},
	}
	if change != nil {
		change(&cfg)
	}
	b, err := mqttbridge.New(cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { closeBridge(b) })
	n.broker.SetForwarders([]broker.Forwarder{b})
	return b
}

func closeBridge(b *mqttbridge.Bridge) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = b.Close(ctx)
}

// client connects a client to the node.
func (n *node) client() *stream.Client {
	n.t.Helper()
	c, err := stream.Dial(n.t.Context(), n.tr, "edge", &stream.Config{Log: discard})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	return c
}

// publish publishes messages from %d to %d on out/1, and waits for their confirmation.
func (n *node) publish(c *stream.Client, from, to int) (want []string) {
	n.t.Helper()
	for i := from; i < to; i++ {
		payload := fmt.Sprintf(`{"v":%d}`, i)
		if err := c.Send(n.t.Context(), ferry.Message{Tag: "out/1", Type: ferry.JSON, Payload: []byte(payload)}); err != nil {
			n.t.Fatal(err)
		}
		want = append(want, "site/out/1 "+payload)
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		n.t.Fatal(err)
	}
	return want
}

// list is messages in the order in which they have come, as "topic payload".
type list struct {
	t       *testing.T
	mu      sync.Mutex
	all     []string
	arrived chan struct{}
}

func newList(t *testing.T) *list { return &list{t: t, arrived: make(chan struct{}, 1)} }

func (l *list) add(m string) {
	l.mu.Lock()
	l.all = append(l.all, m)
	l.mu.Unlock()
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

func (l *list) get() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.all...)
}

// await waits for n messages.
func (l *list) await(n int) []string {
	l.t.Helper()
	late := time.After(patience)
	for {
		if got := l.get(); len(got) >= n {
			return got
		}
		select {
		case <-l.arrived:
		case <-late:
			l.t.Fatalf("%d messages have come, want %d", len(l.get()), n)
		}
	}
}

// expect waits for exactly these messages.
func (l *list) expect(want ...string) {
	l.t.Helper()
	got := l.await(len(want))
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			l.t.Fatalf("message %d of %d is %q, want %d messages, and there %q", i, len(got), got[i], len(want), append(want, "none")[min(i, len(want))])
		}
	}
}

// expectEach waits for these messages in this order. Each may be there again later.
func (l *list) expectEach(want ...string) {
	l.t.Helper()
	eventually(l.t, fmt.Sprintf("all %d messages have come", len(want)), func() bool {
		seen := map[string]bool{}
		var once []string
		for _, m := range l.get() {
			if !seen[m] {
				once = append(once, m)
			}
			seen[m] = true
		}
		if len(once) > len(want) || !slices.Equal(once, want[:len(once)]) {
			l.t.Fatalf("%d different messages have come: not the first of the %d wanted", len(once), len(want))
		}
		return len(once) == len(want)
	})
}

// subscribe returns what comes from the other broker.
func (n *node) subscribe() *list {
	n.t.Helper()
	l := newList(n.t)
	_, err := n.client().Start(n.t.Context(), stream.Function{Observe: []string{"cloud/#"}, Concurrency: 1, Handler: stream.Sink(
		func(_ context.Context, in *ferry.Message) error { l.add(in.Tag + " " + string(in.Payload)); return nil })})
	if err != nil {
		n.t.Fatal(err)
	}
	return l
}

// eventually waits for a condition that counters show.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not happen that %s", what)
		}
	}
}

// peer is the other broker, with one session. The test says when it is there, and what it confirms.
type peer struct {
	t        *testing.T
	received *list // PUBLISH of the bridge
	acks     *list // PUBACK of the bridge, as "ID CODE"
	paths    *list // values of mqttbridge.PathProperty
	texts    *list // other properties, as "ID NAME VALUE"
	ends     *list // reasons of DISCONNECT of the bridge

	mu       sync.Mutex
	down     bool
	withhold bool
	code     mqtt.ReasonCode // of PUBACK
	old      bool            // it speaks 3.1.1 only
	both     bool            // it speaks the version of the client: old is that of the last one
	silent   bool            // it ends a connection of another version without a response
	cuts     int             // so many connections end at CONNECT without a response
	limits   mqtt.Properties // of CONNACK
	most     int             // the most messages that have had no PUBACK at a time
	conn     net.Conn
	filters  []string
	refused  string // a filter of SUBSCRIBE
	withheld []uint16
	user     string
}

func newPeer(t *testing.T) *peer {
	return &peer{t: t, received: newList(t), acks: newList(t), paths: newList(t), texts: newList(t), ends: newList(t)}
}

var errDown = errors.New("the broker is down")

// dial is a mqttbridge.Target.Dial.
func (p *peer) dial(context.Context) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return nil, errDown
	}
	ours, theirs := net.Pipe()
	p.conn, p.withheld = ours, nil
	go p.serve(ours)
	return theirs, nil
}

// set changes the broker, under its lock.
func (p *peer) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// cut ends the connection. With down, the bridge cannot connect again.
func (p *peer) cut(down bool) {
	p.set(func() {
		p.down = down
		if p.conn != nil {
			_ = p.conn.Close()
		}
	})
}

// write sends packets to the bridge.
func (p *peer) write(b []byte) {
	p.mu.Lock()
	c := p.conn
	p.mu.Unlock()
	_, _ = c.Write(b)
}

// deliver sends a message to the bridge.
func (p *peer) deliver(m mqtt.PublishPacket) {
	p.t.Helper()
	b, err := mqtt.AppendPublish(nil, p.version(), &m)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(b)
}

func (p *peer) version() mqtt.Version {
	if p.old {
		return mqtt.V311
	}
	return mqtt.V5
}

// release confirms what was withheld.
func (p *peer) release() {
	var b []byte
	p.set(func() {
		p.withhold = false
		for _, id := range p.withheld {
			b = mqtt.AppendAck(b, p.version(), mqtt.AckPacket{Kind: mqtt.Puback, ID: id})
		}
		p.withheld = nil
	})
	p.write(b)
}

func (p *peer) serve(raw net.Conn) {
	defer func() { _ = raw.Close() }()
	l := mqtt.Limits{}
	var buf []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := raw.Read(chunk)
		if err != nil {
			return
		}
		buf = append(buf, chunk[:n]...)
		var out []byte
		for {
			packet, need, err := mqtt.Next(buf, l)
			if err != nil {
				p.t.Errorf("the bridge has sent %x: %v", buf, err)
				return
			}
			if need > 0 {
				break
			}
			if packet.Kind == mqtt.Connect {
				c, err := mqtt.ParseConnect(packet)
				if err != nil {
					p.t.Error(err)
				}
				cut := false
				p.set(func() {
					if cut = p.cuts > 0; cut {
						p.cuts--
					}
					if p.both {
						p.old = c.Version == mqtt.V311
					}
				})
				if cut {
					return
				}
				if l.Version = c.Version; l.Version != p.version() {
					if !p.silent {
						_, _ = raw.Write(mqtt.AppendConnack(nil, p.version(), &mqtt.ConnackPacket{Code: mqtt.UnsupportedProtocolVersion}))
					}
					return
				}
			}
			out = p.respond(out, packet)
			buf = buf[packet.Size:]
		}
		if len(out) > 0 {
			if _, err := raw.Write(out); err != nil {
				return
			}
		}
	}
}

// respond appends the response to a packet.
func (p *peer) respond(out []byte, packet mqtt.Packet) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	switch packet.Kind {
	case mqtt.Connect:
		var c mqtt.ConnectPacket
		c, err = mqtt.ParseConnect(packet)
		p.user = string(c.User) + ":" + string(c.Password)
		out = mqtt.AppendConnack(out, p.version(), &mqtt.ConnackPacket{Properties: p.limits})
	case mqtt.Subscribe:
		var s mqtt.SubscribePacket
		s, err = mqtt.ParseSubscribe(packet)
		codes := []byte{}
		for f := range s.Filters.All() {
			p.filters = append(p.filters, string(f.Filter))
			code := mqtt.GrantedQoS1
			if string(f.Filter) == p.refused {
				code = mqtt.NotAuthorized
			}
			codes = append(codes, byte(code))
		}
		out = mqtt.AppendSuback(out, p.version(), &mqtt.SubackPacket{Kind: mqtt.Suback, ID: s.ID, Codes: codes})
	case mqtt.Unsubscribe:
		var u mqtt.UnsubscribePacket
		u, err = mqtt.ParseUnsubscribe(packet)
		for f := range u.Topics.All() {
			p.filters = append(p.filters, "-"+string(f))
		}
		out = mqtt.AppendSuback(out, p.version(), &mqtt.SubackPacket{Kind: mqtt.Unsuback, ID: u.ID, Codes: make([]byte, u.Topics.Len())})
	case mqtt.Publish:
		var m mqtt.PublishPacket
		m, err = mqtt.ParsePublish(packet)
		for property := range m.Properties.All() {
			if string(property.Name) == mqttbridge.PathProperty {
				p.paths.add(string(property.Text))
				continue
			}
			p.texts.add(fmt.Sprintf("%v %s %s %d", property.ID, property.Name, property.Text, property.Uint))
		}
		if p.withhold {
			p.withheld = append(p.withheld, m.ID)
			p.most = max(p.most, len(p.withheld))
		} else {
			out = mqtt.AppendAck(out, p.version(), mqtt.AckPacket{Kind: mqtt.Puback, ID: m.ID, Code: p.code})
		}
		p.received.add(string(m.Topic) + " " + string(m.Payload))
	case mqtt.Puback:
		var a mqtt.AckPacket
		a, err = mqtt.ParseAck(packet)
		p.acks.add(fmt.Sprintf("%d %v", a.ID, a.Code))
	case mqtt.Disconnect:
		var d mqtt.DisconnectPacket
		d, err = mqtt.ParseDisconnect(packet)
		p.ends.add(d.Code.String())
	case mqtt.Pingreq:
		out = mqtt.AppendPingresp(out)
	}
	if err != nil {
		p.t.Errorf("the bridge has sent %v: %v", packet.Kind, err)
	}
	return out
}
