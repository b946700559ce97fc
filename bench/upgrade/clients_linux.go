package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"example.com/ferry/bench/internal/clientload"
	wire "example.com/ferry/protocol/mqtt"
)

// httpKind returns the client of a case of HTTP.
func httpKind(name, addr string, trust *tls.Config) clientload.Kind {
	h := clientload.HTTP{Name: name, URL: "http://" + addr + "/", HTTP2: name == http2, Fresh: name == fresh, TLS: trust}
	if trust != nil {
		h.URL = "https://" + addr + "/"
	}
	return h.Kind()
}

// mqttClient publishes with QoS 1, in a session of MQTT 3.1.1. It connects again at once, and sends again what was not acknowledged.
type mqttClient struct {
	addr string
	conn net.Conn // nil before it is connected
	buf  []byte
	last uint16 // packet identifier
}

func mqttKind(addr string) clientload.Kind {
	return clientload.Kind{Name: mqttCase, Connect: func(ctx context.Context, _ int) (clientload.Client, error) {
		c := &mqttClient{addr: addr}
		return c, c.connect(ctx)
	}}
}

// Close closes the connection.
func (c *mqttClient) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (c *mqttClient) connect(ctx context.Context) (err error) {
	if c.conn, err = new(net.Dialer).DialContext(ctx, "tcp", c.addr); err != nil {
		return err
	}
	c.buf = nil
	_ = c.conn.SetDeadline(time.Now().Add(patience))
	packet, err := wire.AppendConnect(nil, &wire.ConnectPacket{Version: wire.V311, ClientID: []byte("client")})
	if err != nil {
		return err
	}
	ack, err := c.exchange(packet, wire.Connack)
	if err != nil {
		return err
	}
	if a, err := wire.ParseConnack(ack); err != nil || a.Code != 0 {
		return fmt.Errorf("CONNACK has code %d: %w", a.Code, err)
	}
	return nil
}

// exchange sends a packet and reads the next one, which must be of that kind.
func (c *mqttClient) exchange(packet []byte, k wire.Kind) (wire.Packet, error) {
	if _, err := c.conn.Write(packet); err != nil {
		return wire.Packet{}, err
	}
	for {
		p, need, err := wire.Next(c.buf, wire.Limits{Version: wire.V311, FromServer: true})
		if err != nil || need == 0 && p.Kind != k {
			return p, fmt.Errorf("got %v, want %v: %w", p.Kind, k, err)
		}
		if need == 0 {
			c.buf = c.buf[p.Size:]
			return p, nil
		}
		var b [4096]byte
		n, err := c.conn.Read(b[:])
		if err != nil {
			return p, err
		}
		c.buf = append(c.buf, b[:n]...)
	}
}

// Do publishes a message and waits for its PUBACK.
func (c *mqttClient) Do(ctx context.Context, id string) (again int, err error) {
	c.last = max(c.last+1, 1)
	packet, err := wire.AppendPublish(nil, wire.V311, &wire.PublishPacket{Topic: []byte("plant/1"), QoS: 1, ID: c.last, Payload: []byte(id)})
	if err != nil {
		return 0, err
	}
	for {
		if c.conn == nil {
			err = c.connect(ctx)
		}
		if err == nil {
			if _, err = c.exchange(packet, wire.Puback); err == nil {
				return again, nil
			}
		}
		c.Close()
		if again++; again > 100 || ctx.Err() != nil {
			return again, errors.Join(err, ctx.Err())
		}
		err = nil
	}
}

var _ clientload.Client = (*mqttClient)(nil)
