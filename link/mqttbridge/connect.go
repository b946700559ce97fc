package mqttbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link"
	"example.com/ferry/protocol/mqtt"
)

var (
	errNoQoS1  = errors.New("bridge: the broker takes no messages of QoS 1")
	errVersion = errors.New("bridge: the broker does not speak this version of MQTT")
	errEnded   = errors.New("bridge: the broker has closed the connection before CONNACK")
)

// dial connects to the other broker and subscribes. It tries MQTT 5 first, and then 3.1.1 if CONNACK says that the broker does not speak
// MQTT 5. Many brokers of 3.1.1 end the connection without a response. A broker that restarts does the same, so dial tries 3.1.1 only when
// this has happened twice in a row.
func (b *Bridge) dial(ctx context.Context) (link.Conn, error) {
	b.Box.Lock()
	to, again := b.target, b.ended
	b.Box.Unlock()
	c, err := b.dialVersion(ctx, &to, mqtt.V5)
	ended := errors.Is(err, errEnded)
	if errors.Is(err, errVersion) || ended && again {
		c, err = b.dialVersion(ctx, &to, mqtt.V311)
		ended = false
	}
	b.Box.Lock()
	defer b.Box.Unlock()
	b.ended = ended
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (b *Bridge) dialVersion(ctx context.Context, to *Target, v mqtt.Version) (*conn, error) {
	raw, err := to.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{
		bridge: b, target: to, net: raw, version: v, keepAlive: to.KeepAlive, inflight: b.cfg.Inflight, largest: mqtt.MaxPacketSize, retains: true,
		out: peer.NewFrameWriter(b.cfg.Memory), settled: make(chan struct{}, 1), skipped: make(chan struct{}, 1),
	}
	c.ctx, c.fail = context.WithCancelCause(context.Background())
	context.AfterFunc(c.ctx, func() { _ = raw.Close() })
	stop := context.AfterFunc(ctx, func() { c.fail(ctx.Err()) })
	go c.run()
	if c.in, err = newInlet(c); err != nil {
		c.out.Close()
		c.fail(err)
		return nil, err
	}
	if err = c.handshake(); !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, c.close(err)
	}
	return c, nil
}

// handshake connects as a client of MQTT and subscribes.
func (c *conn) handshake() error {
	b, to := c.bridge, c.target
	hello := mqtt.ConnectPacket{Version: c.version, KeepAlive: uint16(min(max(to.KeepAlive/time.Second, 1), 65535)), ClientID: []byte(to.ClientID)}
	if to.User != "" {
		hello.User = []byte(to.User)
		if len(to.Password) > 0 {
			hello.Password = to.Password
		}
	}
	if c.version == mqtt.V5 {
		hello.Properties = mqtt.AppendUint(nil, mqtt.SessionExpiryInterval, uint32(min(to.SessionExpiry/time.Second, 1<<31)))
		hello.Properties = mqtt.AppendUint(hello.Properties, mqtt.ReceiveMaximum, uint32(b.cfg.Inflight))
		hello.Properties = mqtt.AppendUint(hello.Properties, mqtt.MaximumPacketSize, uint32(b.cfg.MaxPacket))
	}
	packet, err := mqtt.AppendConnect(nil, &hello)
	if err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	c.write(packet)
	p, err := c.next()
	switch {
	case errors.Is(err, errServerEnd), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w: it refuses the client, does not speak MQTT %v or restarts: see its log", errEnded, c.version)
	case err != nil && !errors.As(err, new(*mqtt.Error)):
		return fmt.Errorf("bridge: connect: %w", err)
	case err == nil && p.Kind != mqtt.Connack:
		err = &mqtt.Error{Code: mqtt.ProtocolError, Kind: p.Kind, Close: true, Reason: "the first packet of a broker is CONNACK"}
	}
	if err != nil {
		return err
	}
	ack, err := mqtt.ParseConnack(p)
	switch {
	case err != nil:
		return err
	case ack.Code == mqtt.UnsupportedProtocolVersion:
		return fmt.Errorf("%w, %v: %v", errVersion, c.version, ack.Code)
	case ack.Code != mqtt.Success:
		return fmt.Errorf("bridge: the broker refuses the connection: %v", ack.Code)
	}
	if err := c.accept(ack.Properties); err != nil {
		return err
	}
	return c.subscribe(ack.SessionPresent)
}

// accept notes the limits of the broker. Those of 3.1.1 have none, and cannot leave out what the bridge itself has published.
func (c *conn) accept(ps mqtt.Properties) error {
	if most, ok := ps.Uint(mqtt.MaximumQoS); ok && most == 0 {
		return errNoQoS1
	}
	if n, ok := ps.Uint(mqtt.ReceiveMaximum); ok {
		c.inflight = min(c.inflight, int(n))
	}
	if n, ok := ps.Uint(mqtt.MaximumPacketSize); ok {
		c.largest = int(min(n, mqtt.MaxPacketSize))
	}
	if n, ok := ps.Uint(mqtt.RetainAvailable); ok {
		c.retains = n == 1
	}
	if s, ok := ps.Uint(mqtt.ServerKeepAlive); ok && s > 0 {
		c.keepAlive = min(c.keepAlive, time.Duration(s)*time.Second)
	}
	if c.version == mqtt.V5 {
		return nil
	}
	for _, in := range c.target.In {
		for _, out := range c.target.Out {
			if topic.Overlap(topicsOf(in), c.target.OutPrefix+out) {
				return fmt.Errorf("bridge: the broker speaks MQTT 3.1.1 only, and would send back what the bridge publishes: in %q and out %q have topics in common: change one, or out_prefix", in, out)
			}
		}
	}
	return nil
}

// subscribe subscribes to the topics, and ends the subscriptions of earlier connections that are not among them. In 3.1.1 a subscription
// that the session has is not repeated, because the broker would send its retained messages again.
func (c *conn) subscribe(resumed bool) error {
	b := c.bridge
	var topics mqtt.Topics
	var kept []string
	for _, filter := range b.subscribed {
		switch {
		case !slices.Contains(c.target.In, filter):
			topics = mqtt.AppendTopic(topics, filter)
		case resumed:
			kept = append(kept, filter)
		}
	}
	if len(topics) > 0 {
		packet, err := mqtt.AppendUnsubscribe(nil, c.version, &mqtt.UnsubscribePacket{ID: 1, Topics: topics})
		if err == nil {
			c.write(packet)
			_, err = c.await(mqtt.Unsuback)
		}
		if err != nil {
			return fmt.Errorf("bridge: unsubscribe: %w", err)
		}
	}
	b.subscribed = kept
	for _, filter := range c.target.In {
		known := slices.Contains(b.subscribed, filter)
		if known && c.version == mqtt.V311 {
			continue
		}
		s := mqtt.Subscription{Filter: []byte(filter), QoS: 1}
		if c.version == mqtt.V5 {
			s.RetainAsPublished, s.RetainHandling, s.NoLocal = true, 1, !strings.HasPrefix(filter, mqtt.SharePrefix)
		}
		packet, err := mqtt.AppendSubscribe(nil, c.version, &mqtt.SubscribePacket{ID: 1, Filters: mqtt.AppendFilter(nil, s)})
		if err == nil {
			c.write(packet)
			var code mqtt.ReasonCode
			if code, err = c.await(mqtt.Suback); err == nil && code.Failed() {
				return fmt.Errorf("bridge: the broker refuses the subscription to %s: %v", filter, code)
			}
		}
		if err != nil {
			return fmt.Errorf("bridge: subscribe to %s: %w", filter, err)
		}
		if !known {
			b.subscribed = append(b.subscribed, filter)
		}
	}
	return nil
}

// await handles packets until the response to a request, and returns its first code.
func (c *conn) await(kind mqtt.Kind) (mqtt.ReasonCode, error) {
	for {
		p, err := c.next()
		if err == nil && p.Kind == kind {
			s, err := mqtt.ParseSuback(p)
			if err != nil || len(s.Codes) == 0 {
				return mqtt.Success, err
			}
			return mqtt.ReasonCode(s.Codes[0]), nil
		}
		if err == nil {
			err = c.handle(p)
		}
		if err != nil {
			return mqtt.Success, err
		}
	}
}
