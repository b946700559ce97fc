package exchange

import (
	"crypto/rand"

	"example.com/ferry/protocol/websocket"
)

// Tunnel follows what a client sends through a tunnel, so that the proxy can end a WebSocket between two messages. Draining lets the bytes of a tunnel go
// on; its end comes when the time for that is over.
type Tunnel struct {
	frames websocket.Boundary
	ending bool
	closed bool // the Close frame is sent: what the client still sends is dropped
}

// Pass follows bytes of the client. It reports whether they go on to the server.
func (t *Tunnel) Pass(p []byte) bool {
	if t.closed {
		return false
	}
	t.frames.Pass(p)
	return true
}

// End asks for the end of the tunnel. Close returns its last bytes then, at once or after a further Pass.
func (t *Tunnel) End() { t.ending = true }

// Close returns a Close frame for the server once the tunnel ends and the client is between two messages, and otherwise nil. The server's own Close frame
// is the last that the client gets.
func (t *Tunnel) Close() []byte {
	if !t.ending || t.closed || !t.frames.Between() {
		return nil
	}
	t.closed = true
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // it never fails
	return websocket.AppendMaskedClose(nil, websocket.GoingAway, mask)
}

// TunnelEnder is a handler of a client's connection that may carry tunnels. EndTunnels has each WebSocket end by a Close frame.
type TunnelEnder interface{ EndTunnels() }

// WebSocket reports whether the request asks for a WebSocket. It is for sides that leave the Relay.
func (r *Relay) WebSocket() bool { return r.webSocket }

// EndTunnel ends the tunnel of the request, if it is one: see Tunnel.
func (r *Relay) EndTunnel() {
	if r.tunnel == nil {
		return
	}
	r.tunnel.End()
	r.closeTunnel()
}

// closeTunnel sends the server a Close frame, if it is time for that.
func (r *Relay) closeTunnel() {
	if r.attempt != attemptOpen {
		return
	}
	if frame := r.tunnel.Close(); frame != nil {
		r.up.RequestData(frame, false)
	}
}
