// Package tcp carries bytes over TCP, and over TLS 1.3 on TCP.
//
// New returns the transport of the scheme tcp, and NewTLS the transport of the scheme tls. A tcp Conn is a *net.TCPConn, so
// one writev sends a net.Buffers. A tls Conn is a *tls.Conn. Its handshake is complete when Accept or Dial returns the Conn.
//
//	l, err := tcp.New(nil).Listen(ctx, "127.0.0.1:4190")
//	conn, err := l.Accept(ctx)
package tcp
