package mqtt_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/session/state"

	"example.com/ferry/broker"
	"example.com/ferry/edge/mqtt"
)

// pahoClient is a connection of paho.golang, which speaks MQTT 5.
type pahoClient struct {
	t        *testing.T
	client   *paho.Client
	conn     net.Conn
	present  bool // the server has a session
	messages chan *paho.Publish
}

// connectPaho connects a client. session is what the client keeps of a session that outlives the connection, or nil.
func (r *rig) connectPaho(t *testing.T, id string, session *state.State, change ...func(*paho.Connect)) *pahoClient {
	t.Helper()
	conn := packets.NewThreadSafeConn(r.open(t))
	c := &pahoClient{t: t, conn: conn, messages: make(chan *paho.Publish, 1000)}
	cfg := paho.ClientConfig{
		Conn: conn, PacketTimeout: patience,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			c.messages <- p.Packet
			return true, nil
		}},
	}
	hello := &paho.Connect{ClientID: id, CleanStart: session == nil, KeepAlive: 60}
	if session != nil {
		cfg.Session = session
		expiry := uint32(600)
		hello.Properties = &paho.ConnectProperties{SessionExpiryInterval: &expiry}
	}
	for _, f := range change {
		f(hello)
	}
	c.client = paho.NewClient(cfg)
	connack, err := c.client.Connect(c.wait(), hello)
	if err != nil {
		t.Fatal(err)
	}
	c.present = connack.SessionPresent
	return c
}

// wait returns a context for one exchange with the server.
func (c *pahoClient) wait() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

func (c *pahoClient) subscribe(o paho.SubscribeOptions) {
	c.t.Helper()
	a, err := c.client.Subscribe(c.wait(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{o}})
	if err != nil || a.Reasons[0] != o.QoS {
		c.t.Fatalf("SUBSCRIBE to %s: %+v, %v", o.Topic, a, err)
	}
}

func (c *pahoClient) publish(p paho.Publish) {
	c.t.Helper()
	if _, err := c.client.Publish(c.wait(), &p); err != nil {
		c.t.Fatalf("PUBLISH on %s: %v", p.Topic, err)
	}
}

func (c *pahoClient) message() *paho.Publish {
	c.t.Helper()
	select {
	case p := <-c.messages:
		return p
	case <-time.After(patience):
		c.t.Fatal("no message")
		return nil
	}
}

func (c *pahoClient) want(topic, payload string, qos byte, retained bool) *paho.Publish {
	c.t.Helper()
	p := c.message()
	if p.Topic != topic || string(p.Payload) != payload || p.QoS != qos || p.Retain != retained {
		c.t.Fatalf("got %s %q with QoS %d, retained %v, want %s %q with QoS %d, retained %v", p.Topic, p.Payload, p.QoS, p.Retain, topic, payload, qos, retained)
	}
	return p
}

// cut ends the connection without DISCONNECT.
func (c *pahoClient) cut() {
	_ = c.conn.Close()
	<-c.client.Done()
}

// TestPahoGo: clients of paho.golang publish and subscribe with each QoS, and use retained messages, wills, sessions and shared
// subscriptions, on tags that are routed and on ones that are stored.
func TestPahoGo(t *testing.T) {
	r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
	for _, root := range []string{"live", "stored"} {
		for name, test := range map[string]func(*testing.T, *rig, string){
			"QoS": pahoQoS, "retained": pahoRetained, "will": pahoWill, "session": pahoSession, "shared": pahoShared,
		} {
			t.Run(root+" "+name, func(t *testing.T) { test(t, r, root+"/"+name) })
		}
	}
}

// TestPahoGoWebSocket: the same over WebSocket, with and without TLS.
func TestPahoGoWebSocket(t *testing.T) {
	for name, r := range map[string]*rig{
		"ws": newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "s/#")}, listener: mqtt.ListenerConfig{WebSocket: true}}), "wss": newTLSRig(t),
	} {
		t.Run(name, func(t *testing.T) {
			pahoQoS(t, r, "live")
			pahoRetained(t, r, "retained")
			pahoWill(t, r, "will")
			pahoSession(t, r, "s/session")
		})
	}
}

func pahoQoS(t *testing.T, r *rig, root string) {
	pub, sub := r.connectPaho(t, "pub", nil), r.connectPaho(t, "sub", nil)
	for granted := range byte(3) {
		sub.subscribe(paho.SubscribeOptions{Topic: root, QoS: granted})
		for qos := range byte(3) {
			pub.publish(paho.Publish{Topic: root, Payload: []byte{'0' + qos}, QoS: qos, Properties: &paho.PublishProperties{
				ContentType: "text/plain", CorrelationData: []byte{0, 1}, User: paho.UserProperties{{Key: "a", Value: "b"}},
			}})
			p := sub.want(root, fmt.Sprint(qos), min(qos, granted), false)
			if v := p.Properties; v.ContentType != "text/plain" || string(v.CorrelationData) != "\x00\x01" || v.User.Get("a") != "b" {
				t.Errorf("got properties %+v", v)
			}
		}
	}
}

func pahoRetained(t *testing.T, r *rig, root string) {
	pub, sub := r.connectPaho(t, "pub", nil), r.connectPaho(t, "sub", nil)
	for _, topic := range []string{"/a", "/b"} {
		pub.publish(paho.Publish{Topic: root + topic, Payload: []byte(topic), QoS: 1, Retain: true})
	}
	pub.publish(paho.Publish{Topic: root + "/a", QoS: 1, Retain: true})
	o := paho.SubscribeOptions{Topic: root + "/+", QoS: 1, RetainAsPublished: true}
	sub.subscribe(o)
	sub.want(root+"/b", "/b", 1, true)
	o.RetainHandling = 2
	sub.subscribe(o)
	pub.publish(paho.Publish{Topic: root + "/b", Payload: []byte("new"), QoS: 1, Retain: true})
	sub.want(root+"/b", "new", 1, true)
}

func pahoWill(t *testing.T, r *rig, root string) {
	sub := r.connectPaho(t, "sub", nil)
	sub.subscribe(paho.SubscribeOptions{Topic: root, QoS: 1})
	with := func(payload string) func(*paho.Connect) {
		return func(c *paho.Connect) {
			c.WillMessage = &paho.WillMessage{Topic: root, Payload: []byte(payload), QoS: 1}
		}
	}
	if err := r.connectPaho(t, "leaves", nil, with("left")).client.Disconnect(&paho.Disconnect{}); err != nil {
		t.Fatal(err)
	}
	r.connectPaho(t, "vanishes", nil, with("vanished")).cut()
	sub.want(root, "vanished", 1, false)
}

func pahoSession(t *testing.T, r *rig, root string) {
	const count = 50
	kept := state.NewInMemory()
	pub, sub := r.connectPaho(t, "pub", nil), r.connectPaho(t, "lasting", kept)
	sub.subscribe(paho.SubscribeOptions{Topic: root, QoS: 2})
	sub.cut()
	for n := range count {
		pub.publish(paho.Publish{Topic: root, Payload: strconv.AppendInt(nil, int64(n), 10), QoS: byte(1 + n%2)})
	}
	sub = r.connectPaho(t, "lasting", kept)
	if !sub.present {
		t.Fatal("the session is gone")
	}
	for n := range count {
		sub.want(root, fmt.Sprint(n), byte(1+n%2), false)
	}
	sub.cut()
	if sub = r.connectPaho(t, "lasting", nil); sub.present {
		t.Error("a clean start has a session")
	}
}

func pahoShared(t *testing.T, r *rig, root string) {
	const count = 40
	pub, one, two := r.connectPaho(t, "pub", nil), r.connectPaho(t, "one", nil), r.connectPaho(t, "two", nil)
	for _, c := range []*pahoClient{one, two} {
		c.subscribe(paho.SubscribeOptions{Topic: "$share/group/" + root + "/#", QoS: 1})
	}
	var want, got []string
	for n := range count {
		want = append(want, fmt.Sprint(n))
		pub.publish(paho.Publish{Topic: fmt.Sprintf("%s/%d", root, n%4), Payload: []byte(want[n]), QoS: 1})
	}
	late := time.After(patience)
	for range count {
		select {
		case p := <-one.messages:
			got = append(got, string(p.Payload))
		case p := <-two.messages:
			got = append(got, string(p.Payload))
		case <-late:
			t.Fatalf("%d messages arrive, want %d", len(got), count)
		}
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q, want each message once", got)
	}
}
