package mqtt_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.com/ferry/broker"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	wire "example.com/ferry/protocol/mqtt"
)

// patience is the longest wait for an event of a test, also on a slow machine.
const patience = 60 * time.Second

// rig is a server with one listener, and its broker.
type rig struct {
	t        *testing.T
	broker   *broker.Broker
	server   *mqtt.Server
	listener *mqtt.Listener
	cursors  *cursors
	over     *tls.Config // of the clients; nil means cleartext
	socket   bool        // the clients connect by WebSocket
	stop     func()      // ends all; a second call does nothing
	conns    *sync.Map   // of clients, that stop reads to the end; nil means none
}

// setup configures a rig. Zero fields have the defaults of a test.
type setup struct {
	broker   broker.Config
	server   mqtt.Config
	listener mqtt.ListenerConfig
	streams  map[string]broker.Stored // by name
	hanging  chan struct{}            // see cursors
}

func newRig(t *testing.T, c setup) *rig {
	t.Helper()
	if c.broker.Identify == nil {
		c.broker.Identify = broker.Anyone
	}
	c.broker.Formats = []format.Format{json.Format{}}
	c.broker.Log = cmp.Or(c.broker.Log, slog.New(slog.DiscardHandler))
	r := &rig{t: t, socket: c.listener.WebSocket, conns: &sync.Map{}, cursors: &cursors{streams: map[string]engine.Stream{}, hanging: c.hanging}}
	for name, s := range c.streams {
		c.broker.Stored = append(c.broker.Stored, s)
		r.cursors.streams[name] = s.Stream
	}
	var err error
	if r.broker, err = broker.New(c.broker); err != nil {
		t.Fatal(err)
	}
	c.server.Broker, c.server.Log = r.broker, cmp.Or(c.server.Log, c.broker.Log)
	if len(c.streams) > 0 {
		c.server.Cursors = r.cursors
		r.cursors.forget = r.broker.ForgetDurable
	}
	if r.server, err = mqtt.New(c.server); err != nil {
		t.Fatal(err)
	}
	c.listener.Address = "127.0.0.1:0"
	if r.listener, err = r.server.Listen(c.listener); err != nil {
		t.Fatal(err)
	}
	r.stop = sync.OnceFunc(func() {
		for c := range r.conns.Range { // a client closes its side when the server has: otherwise the server waits for it
			go func() {
				_, _ = io.Copy(io.Discard, c.(net.Conn))
				_ = c.(net.Conn).Close()
			}()
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.broker.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := r.listener.Drain(ctx); err != nil {
			t.Errorf("Drain: %v", err)
		}
		if err := r.server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// stored returns the stream s of a memory engine, which stores tags at least once.
func stored(t *testing.T, tags ...string) broker.Stored {
	t.Helper()
	e := memory.New()
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	c := engine.Config{Name: "s", Tags: tags, InMemory: true}
	s, err := e.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return broker.Stored{Stream: s, Config: c, AtLeastOnce: true}
}

// cursors removes durables, as a node does.
type cursors struct {
	streams map[string]engine.Stream
	forget  func(stream, durable string) error
	hanging chan struct{} // Delete waits until it is closed; nil means that it does not
}

func (c *cursors) List(ctx context.Context, prefix string) (list []mqtt.Cursor, err error) {
	for name, s := range c.streams {
		all, err := s.Cursors(ctx)
		if err != nil {
			return nil, err
		}
		for _, each := range all {
			if strings.HasPrefix(each.Name, prefix) {
				list = append(list, mqtt.Cursor{Stream: name, Name: each.Name})
			}
		}
	}
	return list, nil
}

func (c *cursors) Delete(ctx context.Context, cursor mqtt.Cursor) error {
	if c.hanging != nil {
		<-c.hanging
	}
	if err := c.forget(cursor.Stream, cursor.Name); err != nil {
		return err
	}
	err := c.streams[cursor.Stream].DeleteCursor(ctx, cursor.Name)
	if errors.Is(err, engine.ErrNoCursor) {
		return nil
	}
	return err
}

// count returns how many durables there are.
func (c *cursors) count(t *testing.T) int {
	t.Helper()
	list, err := c.List(t.Context(), "mqtt-")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// client is a scripted MQTT client.
type client struct {
	t       *testing.T
	conn    net.Conn
	version wire.Version
	buf     []byte
	connack wire.ConnackPacket
	held    []wire.Packet // that next returns before it reads
}

// dial connects without CONNECT.
func (r *rig) dial(v wire.Version) *client {
	r.t.Helper()
	return &client{t: r.t, conn: r.open(r.t), version: v}
}

// open opens a connection, which has a deadline.
func (r *rig) open(t *testing.T) net.Conn {
	t.Helper()
	if !r.socket {
		conn, err := net.Dial("tcp", r.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(patience))
		if r.conns != nil {
			r.conns.Store(conn, nil)
		}
		return conn
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	scheme, options := "ws://", &websocket.DialOptions{Subprotocols: []string{"other", "mqtt"}}
	if r.over != nil {
		scheme, options.HTTPClient = "wss://", &http.Client{Transport: &http.Transport{TLSClientConfig: r.over}}
	}
	c, res, err := websocket.Dial(ctx, scheme+r.listener.Addr().String()+"/mqtt", options)
	if err != nil {
		t.Fatalf("%v: %+v", err, res)
	}
	if c.Subprotocol() != "mqtt" {
		t.Fatalf("the subprotocol is %q", c.Subprotocol())
	}
	c.SetReadLimit(-1)
	conn := websocket.NetConn(ctx, c, websocket.MessageBinary)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// connect connects a client. Without a change, it begins with a new session, which ends with the connection.
func (r *rig) connect(v wire.Version, id string, change ...func(*wire.ConnectPacket)) *client {
	r.t.Helper()
	c := r.dial(v)
	c.greet(id, change...)
	if c.connack.Code != wire.Success {
		r.t.Fatalf("CONNECT of %q: %v", id, c.connack.Code)
	}
	return c
}

// greet sends CONNECT and reads CONNACK.
func (c *client) greet(id string, change ...func(*wire.ConnectPacket)) {
	c.t.Helper()
	p := wire.ConnectPacket{Version: c.version, CleanStart: true, ClientID: []byte(id)}
	for _, f := range change {
		f(&p)
	}
	b, err := wire.AppendConnect(nil, &p)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(b)
	packet := c.read(wire.Connack)
	if c.connack, err = wire.ParseConnack(packet); err != nil {
		c.t.Fatal(err)
	}
	c.connack.Properties = append(wire.Properties(nil), c.connack.Properties...)
}

// lasting makes a session outlive its connection.
func lasting(p *wire.ConnectPacket) {
	p.CleanStart = false
	if p.Version == wire.V5 {
		p.Properties = wire.AppendUint(p.Properties, wire.SessionExpiryInterval, 600)
	}
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// next reads a packet. After the end of the connection the kind is 0.
func (c *client) next() wire.Packet {
	c.t.Helper()
	if len(c.held) > 0 {
		p := c.held[0]
		c.held = c.held[1:]
		return p
	}
	for {
		p, need, err := wire.Next(c.buf, wire.Limits{Version: c.version, FromServer: true})
		if err != nil {
			c.t.Fatalf("the server sends %x: %v", c.buf, err)
		}
		if need == 0 {
			p.Body = append([]byte(nil), p.Body...)
			c.buf = c.buf[p.Size:]
			return p
		}
		var b [4096]byte
		n, err := c.conn.Read(b[:])
		if n == 0 {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				c.t.Fatal("the server sends nothing")
			}
			if !errors.Is(err, io.EOF) && err == nil {
				c.t.Fatal(err)
			}
			return wire.Packet{}
		}
		c.buf = append(c.buf, b[:n]...)
	}
}

// read reads a packet of a kind.
func (c *client) read(k wire.Kind) wire.Packet {
	c.t.Helper()
	p := c.next()
	if p.Kind != k {
		c.t.Fatalf("got %v with body %x, want %v", p.Kind, p.Body, k)
	}
	return p
}

// message reads a PUBLISH.
func (c *client) message() wire.PublishPacket {
	c.t.Helper()
	p, err := wire.ParsePublish(c.read(wire.Publish))
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// want reads a PUBLISH with a topic and a payload.
func (c *client) want(topic, payload string, qos byte) wire.PublishPacket {
	c.t.Helper()
	p := c.message()
	if string(p.Topic) != topic || string(p.Payload) != payload || p.QoS != qos {
		c.t.Fatalf("got %s %q with QoS %d, want %s %q with QoS %d", p.Topic, p.Payload, p.QoS, topic, payload, qos)
	}
	return p
}

// ack reads a packet that acknowledges.
func (c *client) ack(k wire.Kind, id uint16) wire.AckPacket {
	c.t.Helper()
	a, err := wire.ParseAck(c.read(k))
	if err != nil {
		c.t.Fatal(err)
	}
	if a.ID != id {
		c.t.Fatalf("%v of packet %d, want %d", k, a.ID, id)
	}
	return a
}

func (c *client) sendAck(k wire.Kind, id uint16) {
	c.t.Helper()
	c.write(wire.AppendAck(nil, c.version, wire.AckPacket{Kind: k, ID: id}))
}

// send writes a PUBLISH.
func (c *client) send(p wire.PublishPacket) {
	c.t.Helper()
	b, err := wire.AppendPublish(nil, c.version, &p)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(b)
}

// publish publishes a message with QoS 1 and waits for PUBACK.
func (c *client) publish(topic, payload string) {
	c.t.Helper()
	c.send(wire.PublishPacket{QoS: 1, ID: 77, Topic: []byte(topic), Payload: []byte(payload)})
	if a := c.ack(wire.Puback, 77); a.Code != wire.Success {
		c.t.Fatalf("PUBACK with %v", a.Code)
	}
}

// subscribe subscribes and returns the code.
func (c *client) subscribe(s wire.Subscription, ps ...wire.Properties) wire.ReasonCode {
	c.t.Helper()
	p := wire.SubscribePacket{ID: 9, Filters: wire.AppendFilter(nil, s)}
	if len(ps) > 0 {
		p.Properties = ps[0]
	}
	b, err := wire.AppendSubscribe(nil, c.version, &p)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(b)
	v, err := wire.ParseSuback(c.read(wire.Suback))
	if err != nil || v.ID != 9 || len(v.Codes) != 1 {
		c.t.Fatalf("SUBACK %+v, %v", v, err)
	}
	return wire.ReasonCode(v.Codes[0])
}

// sub subscribes to a filter, which must be granted.
func (c *client) sub(filter string, qos byte) {
	c.t.Helper()
	if code := c.subscribe(wire.Subscription{Filter: []byte(filter), QoS: qos}); code != wire.ReasonCode(qos) {
		c.t.Fatalf("SUBSCRIBE to %q: %v", filter, code)
	}
}

func (c *client) unsubscribe(filter string) {
	c.t.Helper()
	b, err := wire.AppendUnsubscribe(nil, c.version, &wire.UnsubscribePacket{ID: 10, Topics: wire.AppendTopic(nil, filter)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(b)
	c.read(wire.Unsuback)
}

// quiet checks that nothing but PINGRESP comes: what the server has sent before would come first.
func (c *client) quiet() {
	c.t.Helper()
	c.write(wire.AppendPingreq(nil))
	c.read(wire.Pingresp)
}

// disconnect leaves, and waits until the server has noticed.
func (c *client) disconnect() {
	c.t.Helper()
	c.write(wire.AppendDisconnect(nil, c.version, wire.DisconnectPacket{}))
	c.closed()
}

// closed waits for the end of the connection.
func (c *client) closed() {
	c.t.Helper()
	for {
		if p := c.next(); p.Kind == 0 {
			break
		}
	}
	_ = c.conn.Close()
}

// await waits until ok is true. There is no event for it.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

var versions = []wire.Version{wire.V311, wire.V5}
