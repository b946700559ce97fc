// Package h2conn drives one HTTP/2 connection (protocol/http2) over a net.Conn: TCP, TLS, a Unix socket, a pipe in memory, a stream of
// QUIC or a WebSocket. A connection costs two goroutines, one that reads and one that writes.
//
//	c := h2conn.Client(nc, nil, handler)
//	go c.Serve()
//	c.Lock()
//	s := c.HTTP2().Open()
//	e := s.BeginHeaders()
//	e.Method(post)
//	e.End(false)
//	s.Write(body, true)
//	c.Unlock() // writes
//
// # The rules of the lock
//
//   - Every method of HTTP2(), of its streams and of its Encoder needs the lock: between Lock and Unlock, or within a call of the
//     Handler. Serve, Close, Done, Err and Raw do not need it. Drain takes the lock itself.
//   - The Handler is called with the lock held: by Serve, by the writing goroutine, and by the goroutine that ends the connection. It
//     may use the streams at once. It must not call Lock, Unlock or Drain, must not wait, and must not run user code. It may call
//     Close.
//   - A Head and a piece of Data are valid until the Handler returns.
//   - Output leaves at Unlock, or when Serve has handled all that it has read. Bytes that several goroutines add meanwhile leave in one
//     write.
//   - Stream.Write takes all bytes and queues what the windows do not pass. A goroutine that sends a large body writes a part of it,
//     and waits while Stream.Full: for Handler.Writable, or for Handler.Reset, which ends every wait. It waits without the lock,
//     on a channel of its own, which the Handler signals without blocking.
//   - A goroutine that consumes a body calls Stream.Consumed under the lock. Until then at most Config.StreamWindow bytes of the stream
//     arrive. The other streams continue.
//   - Release, once for each stream, ends the use of a *Stream. http2 uses the memory again for another stream. So a goroutine that
//     shares a stream with the Handler keeps its own record of whether the stream was released, under the lock.
package h2conn

// Files: goroutines that drive an HTTP/2 connection over any net.Conn, with a lock: conn.go and serve.go read and write,
// checks.go is the timer (PING, timeouts, abuse), body.go sends large bodies, state.go and close.go end it.
