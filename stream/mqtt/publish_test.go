package mqtt_test

import (
	"strings"
	"testing"

	wire "example.com/ferry/protocol/mqtt"
)

// TestResponseOrder: responses have the order of the messages, also if one of these has too many properties.
func TestResponseOrder(t *testing.T) {
	r := newRig(t, setup{})
	c := r.connect(wire.V5, "c")
	var b []byte
	for id := uint16(1); id <= 3; id++ {
		p := wire.PublishPacket{QoS: 1, ID: id, Topic: []byte("a"), Payload: []byte("x")}
		if id == 2 {
			p.Properties = wire.AppendUser(nil, "large", strings.Repeat("x", 1000))
		}
		var err error
		if b, err = wire.AppendPublish(b, wire.V5, &p); err != nil {
			t.Fatal(err)
		}
	}
	c.write(b)
	for id, want := range []wire.ReasonCode{wire.Success, wire.QuotaExceeded, wire.Success} {
		if a := c.ack(wire.Puback, uint16(id+1)); a.Code != want {
			t.Errorf("PUBACK of %d with %v, want %v", a.ID, a.Code, want)
		}
	}
}
