package http1

import (
	"bytes"
	"crypto/rand"
	"crypto/sha1" // RFC 6455, section 1.3: the hash proves that the server speaks WebSocket, and protects nothing
	"encoding/base64"

	"example.com/ferry/proxy/exchange"
)

// A tunnel between HTTP/1.1 and another protocol, as package exchange defines it. In HTTP/1.1 the client asks with Upgrade
// and the server accepts with 101. WebSocket adds a key that the server must hash (RFC 6455, section 4); HTTP/2 has none
// (RFC 8441, section 5), so the proxy makes and checks the key on this side.

var (
	websocket = []byte("websocket")
	acceptKey = []byte("sec-websocket-accept")
	keyField  = []byte("sec-websocket-key")
)

// appendUpgrade appends the fields that ask a server for a tunnel.
func (u *upstreamSide) appendUpgrade(b, protocol []byte) []byte {
	b = append(append(b, "Connection: Upgrade\r\nUpgrade: "...), protocol...)
	b = append(b, "\r\n"...)
	if !bytes.EqualFold(protocol, websocket) {
		return b
	}
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	u.accept = websocketAccept([]byte(key))
	return appendField(b, "Sec-WebSocket-Key", key)
}

// websocketAccept returns the Sec-WebSocket-Accept for a key. RFC 6455, section 4.2.2.
func websocketAccept(key []byte) string {
	hash := sha1.Sum(append(bytes.Clone(key), "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...))
	return base64.StdEncoding.EncodeToString(hash[:])
}

// opensTunnel reports whether a response 101 accepts the tunnel that the request asked for.
func (u *upstreamSide) opensTunnel() bool {
	return u.tunnel && u.head.Upgrade && bytes.EqualFold(u.head.UpgradeTo(u.responseHead.data), u.protocol) &&
		(u.accept == "" || string(u.responseHead.Get(string(acceptKey))) == u.accept)
}

// openedHead is a response 101 as the head of a tunnel: another protocol says 200.
type openedHead struct{ responseHead }

var _ exchange.ResponseHead = (*openedHead)(nil)

func (h *openedHead) Status() int          { return 200 }
func (h *openedHead) ContentLength() int64 { return -1 }

func (h *openedHead) All(yield func(name, value []byte) bool) {
	h.responseHead.All(func(name, value []byte) bool { return bytes.EqualFold(name, acceptKey) || yield(name, value) })
}

// openTunnel accepts the tunnel that the client asked for. h is the head of the response of another protocol.
func (d *downstreamSide) openTunnel(h exchange.ResponseHead) {
	d.useReplayHead()
	d.status, d.framing, d.keepAlive = 101, plain, false
	edits := d.relay.Route.ResponseEdits
	b := appendStatusLine(d.loopState.scratch[:0], 101)
	b = append(append(b, "Connection: Upgrade\r\nUpgrade: "...), d.requestHead.UpgradeTo()...)
	b = append(b, "\r\n"...)
	if key := d.requestHead.Get(string(keyField)); key != nil {
		b = appendField(b, "Sec-WebSocket-Accept", websocketAccept(key))
	}
	b = d.loopState.fields.appendResponse(b, h, edits)
	for _, pair := range edits.Written() {
		b = appendField(b, pair.Name, pair.Value)
	}
	b = appendNeutralVia(b, "2", d.settings.Via)
	d.writeHead(append(b, "\r\n"...))
	d.enter(tunneling)
	if d.halfClosed && len(d.client.Unread()) == 0 {
		d.relay.RequestEnd(nil)
	}
	resume(d.client)
}

// sendTunnel passes bytes of the client to the server.
func (d *downstreamSide) sendTunnel(p []byte) int {
	d.addBody(len(p))
	if d.relay.RequestData(p, false) {
		d.client.PauseReading()
	}
	if d.halfClosed {
		d.relay.RequestEnd(nil)
	}
	return len(p)
}
