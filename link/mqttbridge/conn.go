package mqttbridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"example.com/ferry"
	"example.com/ferry/protocol/mqtt"
)

// conn is one connection to the other broker.
type conn struct {
	bridge   *Bridge
	target   *Target
	ctx      context.Context // ends with the connection; its cause says why
	fail     context.CancelCauseFunc
	net      *wire
	client   *paho.Client
	session  *session
	in       *inlet
	inflight int           // messages that may be on their way to the broker
	settled  chan struct{} // of capacity 1: nothing is on its way
	excess   sync.Once     // exceeded was called
}

var (
	errNoQoS1    = errors.New("bridge: the broker takes no messages of QoS 1")
	errServerEnd = errors.New("bridge: the broker has closed the connection")
)

// dial connects to the other broker and subscribes. before are the filters of the last connection.
func (b *Bridge) dial(to *Target, before []string) (*conn, error) {
	ctx, cancel := context.WithTimeout(b.ctx, b.cfg.DialTimeout)
	defer cancel()
	raw, err := to.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{bridge: b, target: to, net: newWire(raw, b.cfg.MaxPacket, b.cfg.DialTimeout), inflight: b.cfg.Inflight, settled: make(chan struct{}, 1)}
	c.ctx, c.fail = context.WithCancelCause(b.ctx)
	c.session = newSession(c)
	if c.in, err = newInlet(c); err == nil {
		err = c.handshake(ctx, before)
	}
	if err != nil {
		c.fail(err)
		c.end()
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// handshake connects as a client of MQTT and subscribes.
func (c *conn) handshake(ctx context.Context, before []string) error {
	b, to := c.bridge, c.target
	c.client = paho.NewClient(paho.ClientConfig{
		Conn: c.net, Session: c.session, EnableManualAcknowledgment: false, PacketTimeout: b.cfg.DialTimeout,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			c.in.push(r.Packet)
			return true, nil
		}},
		OnClientError: func(err error) { c.fail(fmt.Errorf("bridge: %w", err)) },
		OnServerDisconnect: func(d *paho.Disconnect) {
			c.fail(fmt.Errorf("%w: %v", errServerEnd, mqtt.ReasonCode(d.ReasonCode)))
		},
	})
	expiry, receive, largest := uint32(min(to.SessionExpiry/time.Second, 1<<31)), uint16(b.cfg.Inflight), uint32(b.cfg.MaxPacket)
	request := &paho.Connect{
		ClientID: to.ClientID, KeepAlive: uint16(min(max(to.KeepAlive/time.Second, 1), 65535)),
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &expiry, ReceiveMaximum: &receive, MaximumPacketSize: &largest, RequestProblemInfo: true},
	}
	if to.User != "" {
		request.UsernameFlag, request.Username = true, to.User
		request.PasswordFlag, request.Password = len(to.Password) > 0, to.Password
	}
	ack, err := c.client.Connect(ctx, request)
	if err != nil {
		if ack != nil {
			return fmt.Errorf("bridge: the broker refuses the connection: %v", mqtt.ReasonCode(ack.ReasonCode))
		}
		return fmt.Errorf("bridge: %w", err)
	}
	if p := ack.Properties; p != nil {
		if p.MaximumQoS != nil && *p.MaximumQoS == 0 {
			return errNoQoS1
		}
		if p.ReceiveMaximum != nil {
			c.inflight = min(c.inflight, int(*p.ReceiveMaximum))
		}
		if p.MaximumPacketSize != nil {
			c.net.largest = int(*p.MaximumPacketSize)
		}
	}
	return c.subscribe(ctx, before)
}

// subscribe subscribes to the topics, and ends the subscriptions of the last connection that are not among them.
func (c *conn) subscribe(ctx context.Context, before []string) error {
	before = slices.DeleteFunc(slices.Clone(before), func(filter string) bool { return slices.Contains(c.target.In, filter) })
	if len(before) > 0 {
		if _, err := c.client.Unsubscribe(ctx, &paho.Unsubscribe{Topics: before}); err != nil {
			return fmt.Errorf("bridge: unsubscribe from %s: %w", strings.Join(before, ", "), err)
		}
	}
	for _, filter := range c.target.In {
		option := paho.SubscribeOptions{Topic: filter, QoS: 1, RetainAsPublished: true, RetainHandling: 1, NoLocal: !strings.HasPrefix(filter, mqtt.SharePrefix)}
		ack, err := c.client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{option}})
		switch {
		case ack != nil && len(ack.Reasons) == 1 && mqtt.ReasonCode(ack.Reasons[0]).Failed():
			return fmt.Errorf("bridge: the broker refuses the subscription to %s: %v", filter, mqtt.ReasonCode(ack.Reasons[0]))
		case err != nil:
			return fmt.Errorf("bridge: subscribe to %s: %w", filter, err)
		}
	}
	return nil
}

// source returns the source id of what the connection publishes on this node.
func (c *conn) source() ferry.SourceID { return c.in.local.ID() }

// publish sends a message. Its flight was added. After an error the connection ends.
func (c *conn) publish(m *item) {
	p := publishOf(m, c.target.OutPrefix, c.bridge.cfg.Node)
	if c.net.largest > 0 && len(p.Topic)+len(p.Payload)+len(m.extension)+len(m.path)+packetRoom > c.net.largest {
		c.bridge.tooLong(c)
		return
	}
	if _, err := c.client.PublishWithOptions(c.ctx, p, paho.PublishOptions{Method: paho.PublishMethod_AsyncSend}); err != nil {
		c.fail(fmt.Errorf("bridge: %w", err))
	}
}

// packetRoom is more bytes than a PUBLISH has beside topic, payload, path and extension.
const packetRoom = 256

// tooLong drops the message of the last flight: the broker takes no packet of its length.
func (b *Bridge) tooLong(c *conn) {
	b.mu.Lock()
	if b.conn == c && b.flights.Len() > 0 {
		b.flights.Back().acked = true
		b.drop(dropTooLong, 1)
		b.land()
	}
	b.unlock()
	signal(b.sendSoon)
}

// exceeded ends the connection: the broker has sent more messages than CONNECT allows without their PUBACK.
func (c *conn) exceeded() {
	c.excess.Do(func() {
		d := packets.Disconnect{ReasonCode: byte(mqtt.ReceiveMaximumExceeded), Properties: &packets.Properties{}}
		_, _ = d.WriteTo(c.net)
		c.fail(fmt.Errorf("bridge: the broker sends more than %d unconfirmed messages", c.bridge.cfg.Inflight))
	})
}

// settle waits until the broker has confirmed what is on its way, or ctx or the connection ends.
func (c *conn) settle(ctx context.Context) {
	b := c.bridge
	for {
		b.mu.Lock()
		left := 0
		if b.conn == c {
			left = b.flights.Len()
		}
		b.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-c.settled:
		case <-ctx.Done():
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// leave ends the connection by DISCONNECT.
func (c *conn) leave() {
	_ = c.client.Disconnect(&paho.Disconnect{})
	c.fail(errClosed)
}

// end releases what the connection holds. Its context has ended.
func (c *conn) end() {
	_ = c.net.Close()
	if c.client != nil {
		if done := c.client.Done(); done != nil && c.session.connected() {
			_ = c.client.Disconnect(&paho.Disconnect{}) // it waits for the client's goroutines
		}
	}
	if c.in != nil {
		c.in.close()
	}
}

var _ net.Conn = (*wire)(nil)
