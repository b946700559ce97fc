package main

import (
	"fmt"
	"net"
	"time"

	"example.com/ferry/bench/internal/keepalive"
	wire "example.com/ferry/protocol/mqtt"
)

const patience = 30 * time.Second // for a message, and for a response

// client is a connection by MQTT 3.1.1, which all brokers here speak.
type client struct {
	conn     net.Conn
	t        *trial
	qos      byte
	expected []int  // of a subscriber: the sequence of the next message of each publisher
	acks     []byte // of a subscriber: what it has to send
	times    keepalive.Histogram
	sender   *publisher // nil: a subscriber
}

// dial connects a client, and waits for the response.
func dial(addr, name string) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn}
	packet, err := wire.AppendConnect(nil, &wire.ConnectPacket{Version: wire.V311, CleanStart: true, KeepAlive: 3600, ClientID: []byte(name)})
	if err == nil {
		err = c.request(packet, func(p wire.Packet) error {
			response, err := wire.ParseConnack(p)
			if err == nil && response.Code != wire.Success {
				err = fmt.Errorf("the broker refuses to connect %s: %v", name, response.Code)
			}
			return err
		})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// subscribe subscribes to a filter, and waits for the response.
func (c *client) subscribe(filter string, qos byte) error {
	c.qos = qos
	packet, err := wire.AppendSubscribe(nil, wire.V311, &wire.SubscribePacket{
		ID: 1, Filters: wire.AppendFilter(nil, wire.Subscription{Filter: []byte(filter), QoS: qos}),
	})
	if err != nil {
		return err
	}
	return c.request(packet, func(p wire.Packet) error {
		response, err := wire.ParseSuback(p)
		if err == nil && (len(response.Codes) != 1 || response.Codes[0] != qos) {
			err = fmt.Errorf("the response to a subscription with QoS %d is %v", qos, response.Codes)
		}
		return err
	})
}

// request sends a packet, and hands on the only packet that the broker sends back.
func (c *client) request(packet []byte, handle func(wire.Packet) error) error {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.conn.Write(packet); err != nil {
		return err
	}
	buf := make([]byte, 64)
	for n := 0; ; {
		read, err := c.conn.Read(buf[n:])
		if err != nil {
			return err
		}
		n += read
		p, need, err := wire.Next(buf[:n], wire.Limits{Version: wire.V311, FromServer: true, MaxPacket: len(buf)})
		switch {
		case err != nil:
			return err
		case need == 0 && p.Size < n:
			return fmt.Errorf("the broker has sent %d bytes behind its response", n-p.Size)
		case need == 0:
			return handle(p)
		}
	}
}

// receive handles packets until the connection ends.
func (c *client) receive() error {
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for n := 0; ; {
		read, err := c.conn.Read(buf[n:])
		if err != nil {
			return err
		}
		n += read
		used, err := c.handle(buf[:n])
		if err != nil {
			return err
		}
		n = copy(buf, buf[used:n])
		if len(c.acks) > 0 {
			if _, err := c.conn.Write(c.acks); err != nil {
				return err
			}
			c.acks = c.acks[:0]
		}
	}
}

// handle handles the whole packets in b. It returns how many bytes they have.
func (c *client) handle(b []byte) (used int, err error) {
	var run counted
	defer run.end()
	for {
		p, need, err := wire.Next(b[used:], wire.Limits{Version: wire.V311, FromServer: true})
		if err != nil || need > 0 {
			return used, err
		}
		used += p.Size
		switch {
		case p.Kind == wire.Publish && c.sender == nil:
			err = c.delivered(p, &run)
		case p.Kind == wire.Puback && c.sender != nil:
			err = c.sender.acknowledged(p, &run)
		default:
			err = fmt.Errorf("the broker has sent %v", p.Kind)
		}
		if err != nil {
			return used, err
		}
	}
}

// delivered checks and counts one message.
func (c *client) delivered(p wire.Packet, run *counted) error {
	packet, err := wire.ParsePublish(p)
	if err != nil {
		return err
	}
	m, err := parse(packet.Payload)
	if err != nil {
		return err
	}
	switch {
	case packet.QoS != c.qos:
		return fmt.Errorf("a message with QoS %d has arrived, want %d", packet.QoS, c.qos)
	case m.publisher < 0 || m.publisher >= len(c.expected) || string(packet.Topic) != topicOf(m.publisher):
		return fmt.Errorf("a message of publisher %d has arrived with topic %q", m.publisher, packet.Topic)
	}
	if c.qos > 0 {
		c.acks = wire.AppendAck(c.acks, wire.V311, wire.AckPacket{Kind: wire.Puback, ID: packet.ID})
	}
	want := c.expected[m.publisher]
	switch {
	case m.sequence < want && packet.Dup:
		return nil // at least once
	case m.sequence != want:
		return fmt.Errorf("message %d of publisher %d has arrived, want %d", m.sequence, m.publisher, want)
	}
	c.expected[m.publisher]++
	ph := c.t.publishers[m.publisher].phase.Load()
	if ph.timed {
		c.times.Add(time.Since(epoch) - m.due)
	}
	run.add(ph, ph.block(m.sequence))
	return nil
}
