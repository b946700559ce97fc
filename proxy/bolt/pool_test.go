package bolt

import (
	"testing"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// A connection with a full queue is not chosen while another one may be opened.
func TestFullConnectionIsNotChosen(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	routes := []route.Rule{{Name: "all", Cluster: "c"}}
	p := start(t, nil, nil, routes, cluster("c", s))
	made := p.use(nil, nil, routes, cluster("c", s))["c"]
	c := p.dial()
	c.send(call(wire.V1, 1, "a", nil))
	c.status(1, wire.StatusSuccess)
	p.on(p.group.Loops()[0], func() {
		w := &p.service.loops[0]
		e, err := made.Pick(0, w.loop.Now(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		e.Done(upstream.Canceled, 0, w.loop.Now())
		pool := poolOf(e, w)
		for name, choose := range map[string]func(wire.Dialect, bool) *upstreamConn{"shared": pool.sharedConn, "exclusive": pool.exclusiveConn} {
			first := choose(wire.V1, false)
			if first.connected = true; choose(wire.V1, false) != first {
				t.Errorf("%s: a connection with room is not chosen", name)
			}
			for !first.socket.Full() {
				beat, _ := wire.AppendHeartbeat(nil, wire.V1, 1)
				first.socket.Write(beat)
			}
			if choose(wire.V1, false) == first {
				t.Errorf("%s: a full connection is chosen", name)
			}
			first.socket.Abort(loop.ErrShutdown)
		}
	})
}
