package mqtt_test

import (
	"testing"

	wire "example.com/ferry/protocol/mqtt"
)

// TestClosedByOperator: a client that an operator has disconnected is told so, and may return.
func TestClosedByOperator(t *testing.T) {
	r := newRig(t, setup{})
	for _, change := range []func(*wire.ConnectPacket){func(*wire.ConnectPacket) {}, lasting} {
		c := r.connect(wire.V5, "c", change)
		closed := 0
		for _, s := range r.broker.Connections() {
			if s.Client != "c" {
				continue
			}
			if s.Addr != c.conn.LocalAddr().String() {
				t.Errorf("the client's address is %s, want %s", s.Addr, c.conn.LocalAddr())
			}
			if err := r.broker.CloseConnection(s.ID); err != nil {
				t.Fatal(err)
			}
			closed++
		}
		if closed != 1 {
			t.Fatalf("%d connections of the client, want 1", closed)
		}
		if d, err := wire.ParseDisconnect(c.read(wire.Disconnect)); err != nil || d.Code != wire.AdministrativeAction {
			t.Errorf("DISCONNECT with %v, %v, want %v", d.Code, err, wire.AdministrativeAction)
		}
		c.closed()
		r.connect(wire.V5, "c", change).disconnect()
	}
}
