// Package tlslayer puts TLS (crypto/tls) between the connections of an event loop and their sockets.
//
// A Layer reads the ClientHello on the loop, so a silent client costs no goroutine. The handshake then runs on a goroutine.
// The number of such goroutines is bounded: see Config. After the handshake the loop seals and opens records itself. Idle
// connections of a loop share one read buffer.
//
//	layers := tlslayer.New(len(group.Loops()), nil)
//	bound := layers.Bound()
//	listener, err := group.Listen(addr, func(c *loop.Conn) loop.Handler {
//		layer := layers.Server(c.Loop(), config, bound)
//		c.SetLayer(layer, func(*loop.Conn) loop.Handler { return handlerFor(layer.ConnectionState()) })
//		return loop.Base{}
//	})
//
// A connection that is dialled takes layers.Client instead, directly after Loop.Dial.
package tlslayer

// Files: TLS as a layer of loop, both sides: hello.go finds the end of a ClientHello on the loop, handshake.go is the
// goroutine of a handshake, places.go bounds them, receive.go is the read buffer that idle connections share,
// conn_buffers.go releases what a tls.Conn would keep.
