package bolt

import (
	"testing"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

func TestDialects(t *testing.T) {
	t.Parallel()
	for _, portable := range []bool{false, true} {
		for d, name := range dialectNames {
			if portable {
				name += "-portable"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, nil)
				p := start(t, &loop.Config{Loops: 2, Portable: portable}, &Config{CheckCRC: true},
					[]route.Rule{{Name: "all", Cluster: "c"}}, cluster("c", s))
				c := p.dial()
				for i, size := range []int{0, 5, 1000, largeFrame - 200, largeFrame + 1, 1 << 20} {
					id := uint32(i) * 0x01234567
					c.send(call(d, id, "a", filled(size)))
					c.echoed(c.status(id, wire.StatusSuccess), filled(size))
				}
				if got := s.served.Load(); got != 6 {
					t.Errorf("the server got %d requests, want 6", got)
				}
			})
		}
	}
}

func TestManyInFlight(t *testing.T) {
	t.Parallel()
	var held []wire.Frame
	s := newServer(t, func(p *peer, f wire.Frame) {
		if held = append(held, f); len(held) < 64 {
			return
		}
		for i := range held { // in reverse order
			echo(p, held[len(held)-1-i])
		}
		held = nil
	})
	c := simple(t, nil, s).dial()
	for round := range 3 {
		for i := range 64 {
			c.send(call(wire.V1, uint32(1000*i), "a", numbered(i)))
		}
		for i := 63; i >= 0; i-- {
			c.echoed(c.status(uint32(1000*i), wire.StatusSuccess), numbered(i))
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("round %d: %d connections, want 1", round, n)
		}
	}
}
