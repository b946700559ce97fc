package mqtt_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	wire "example.com/ferry/protocol/mqtt"
)

// TestSilentConnections: more connections than there are places send nothing. A device gets in, and stays while more of them come.
func TestSilentConnections(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{Config: edge.Config{MaxConnections: 8, HandshakeTimeout: time.Hour}}})
	silence := func() {
		for range 64 {
			c, err := net.Dial("tcp", r.listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	silence()
	device := r.connect(wire.V5, "device")
	device.sub("a", 1)
	silence()
	r.connect(wire.V5, "another").publish("a", "x")
	device.want("a", "x", 1)
}

// TestHalvesOfConnect: connections that send all but the last byte of a large CONNECT do not use up the memory of identified clients.
func TestHalvesOfConnect(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{MaxPacket: 1 << 20, Config: edge.Config{HandshakeTimeout: time.Hour}}})
	device := r.connect(wire.V5, "device")
	device.sub("a", 1)
	large, err := wire.AppendConnect(nil, &wire.ConnectPacket{
		Version: wire.V5, ClientID: []byte("half"), Will: &wire.Will{Topic: []byte("w"), Payload: make([]byte, 60_000)},
	})
	if err != nil {
		t.Fatal(err)
	}
	payload := make([]byte, 100<<10)
	packet, err := wire.AppendPublish(nil, wire.V5, &wire.PublishPacket{QoS: 1, ID: 1, Topic: []byte("b"), Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	device.write(packet[:len(packet)/2])
	closed := make(chan struct{}, 1000)
	for range 900 {
		c, err := net.Dial("tcp", r.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := c.Write(large[:len(large)-1]); err != nil {
			closed <- struct{}{}
			continue
		}
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(patience))
			_, _ = c.Read(make([]byte, 1))
			closed <- struct{}{}
		}()
	}
	for range 500 { // each loop keeps some of them only
		<-closed
	}
	device.write(packet[len(packet)/2:])
	device.ack(wire.Puback, 1)
}

// TestAwaySessions: sessions whose clients are away take no places of connections.
func TestAwaySessions(t *testing.T) {
	r := newRig(t, setup{broker: broker.Config{MaxConnections: 4}})
	for i := range 20 {
		c := r.connect(wire.V5, fmt.Sprint("away-", i), lasting)
		c.sub("a", 1) // without a stream, the session keeps a client of the broker
		c.disconnect()
		c.closed()
	}
	device := r.connect(wire.V5, "device")
	device.publish("b", "x")
	r.connect(wire.V5, "away-0", lasting)
}
