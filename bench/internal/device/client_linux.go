package device

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/bench/internal/keepalive"
	wire "example.com/ferry/protocol/mqtt"
)

const patience = 30 * time.Second

// Login is who a client is. Without a User it is a guest.
type Login struct{ User, Password string }

// Client is an honest device, by MQTT 3.1.1.
type Client struct {
	conn net.Conn
	due  []atomic.Int64 // of the message with an ID, in ns since start
	lost atomic.Bool    // the connection has ended
	rest []byte
}

// Dial connects n clients, one after the other.
func Dial(addr string, n int, l Login) (all []*Client, err error) {
	for i := range n {
		c, err := Connect(addr, fmt.Sprintf("honest-%d", i), l)
		if err != nil {
			Close(all)
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// Close closes clients; some may be nil.
func Close(clients []*Client) {
	for _, c := range clients {
		if c != nil {
			_ = c.conn.Close()
		}
	}
}

// Connect connects a client, and waits for the response, which must let it in.
func Connect(addr, name string, l Login) (*Client, error) { return ConnectFrom(nil, addr, name, l) }

// ConnectFrom is Connect from a local IP address.
func ConnectFrom(from net.IP, addr, name string, l Login) (*Client, error) {
	d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: from}}
	conn, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	packet, err := wire.AppendConnect(nil, &wire.ConnectPacket{
		Version: wire.V311, CleanStart: true, KeepAlive: 3600, ClientID: []byte(name), User: []byte(l.User), Password: []byte(l.Password),
	})
	if err == nil {
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err = conn.Write(packet)
	}
	var b [4]byte // CONNACK. MQTT 3.1.1, section 3.2
	if err == nil {
		_, err = io.ReadFull(conn, b[:])
	}
	if err == nil && (b[0] != 0x20 || b[3] != 0) {
		err = fmt.Errorf("the node refuses %s: code %d", name, b[3])
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &Client{conn: conn}, conn.SetDeadline(time.Time{})
}

// Result is what clients have seen.
type Result struct {
	Sent     int
	Failures int                 // messages that were not acknowledged
	Times    keepalive.Histogram // from when a message was due to its acknowledgement
}

// Publish publishes rate messages a second by all clients together, each with QoS 1 at a fixed time, for d. It waits for the acknowledgements.
func Publish(clients []*Client, rate int, d time.Duration) Result {
	var all Result
	var mu sync.Mutex
	var group sync.WaitGroup
	start := time.Now()
	for i, c := range clients {
		group.Go(func() {
			r := c.publish(start, time.Duration(i)*time.Second/time.Duration(rate), time.Duration(len(clients))*time.Second/time.Duration(rate), d)
			mu.Lock()
			defer mu.Unlock()
			all.Sent, all.Failures = all.Sent+r.Sent, all.Failures+r.Failures
			all.Times.Merge(r.Times)
		})
	}
	group.Wait()
	return all
}

// publish sends the client's messages, the first one at offset, and then one each interval.
func (c *Client) publish(start time.Time, offset, interval, d time.Duration) (r Result) {
	if c.due == nil {
		c.due = make([]atomic.Int64, 1<<16)
	}
	var acked atomic.Int64
	var times keepalive.Histogram
	wanted := int64(max(0, (d-offset-1)/interval+1))
	reader := make(chan struct{})
	go func() {
		defer close(reader)
		buf := make([]byte, 4<<10)
		for acked.Load() < wanted {
			n, err := c.conn.Read(buf)
			if err != nil {
				c.lost.Store(true)
				return
			}
			now := time.Since(start)
			c.rest = append(c.rest, buf[:n]...)
			for len(c.rest) >= 4 { // PUBACK. MQTT 3.1.1, section 3.4
				times.Add(now - time.Duration(c.due[binary.BigEndian.Uint16(c.rest[2:])].Load()))
				c.rest = c.rest[4:]
				acked.Add(1)
			}
		}
	}()
	_ = c.conn.SetDeadline(start.Add(d + patience))
	for due := offset; due < d && !c.lost.Load(); due += interval {
		time.Sleep(time.Until(start.Add(due)))
		id := uint16(r.Sent%0xffff + 1)
		c.due[id].Store(int64(due))
		packet, err := wire.AppendPublish(nil, wire.V311, &wire.PublishPacket{QoS: 1, ID: id, Topic: []byte("honest/device"), Payload: []byte(`{"value":20.5}`)})
		if err == nil {
			_, err = c.conn.Write(packet)
		}
		if err != nil {
			break
		}
		r.Sent++
	}
	<-reader
	r.Sent, r.Failures, r.Times = int(wanted), int(wanted-acked.Load()), times
	return r
}
