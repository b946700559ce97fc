// Package tcp carries bytes over TCP, and over TLS 1.3 on TCP.
//
// New returns the transport of the scheme tcp, NewTLS that of the scheme tls. A tcp Conn is a *net.TCPConn, so net.Buffers is
// written with one writev. A tls Conn is a *tls.Conn whose handshake is complete when Accept or Dial returns it.
//
//	l, err := tcp.New(nil).Listen(ctx, "127.0.0.1:4190")
//	conn, err := l.Accept(ctx)
package tcp
