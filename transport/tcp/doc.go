// Package tcp carries bytes over TCP, and over TLS 1.3 on TCP.
//
// New gives the scheme tcp, NewTLS the scheme tls. A tcp Conn is a *net.TCPConn, so that net.Buffers becomes one writev; a
// tls Conn is a *tls.Conn whose handshake is complete when Accept or Dial returns it.
//
//	l, err := tcp.New(nil).Listen(ctx, "127.0.0.1:4190")
//	conn, err := l.Accept(ctx)
package tcp
