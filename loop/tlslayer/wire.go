package tlslayer

import (
	"net"
	"time"
)

// wire is the net.Conn below a tls.Conn. During the handshake only its goroutine uses it, afterwards only the loop.
type wire struct{ *Layer }

var _ net.Conn = wire{}

func (w wire) Read(p []byte) (int, error) {
	if h := w.shake; h != nil {
		return h.read(p)
	}
	return w.readRecord(p)
}

func (w wire) Write(p []byte) (int, error) {
	if h := w.shake; h != nil {
		return h.write(p)
	}
	w.socket.Write(p)
	return len(p), nil
}

func (w wire) Close() error                     { return nil }
func (w wire) LocalAddr() net.Addr              { return noAddr{} }
func (w wire) RemoteAddr() net.Addr             { return noAddr{} }
func (w wire) SetDeadline(time.Time) error      { return nil }
func (w wire) SetReadDeadline(time.Time) error  { return nil }
func (w wire) SetWriteDeadline(time.Time) error { return nil }

// noAddr is the address of a wire. crypto/tls asks for it, as the key of a client's session if there is no server name, and an
// empty one means that the session is not kept.
type noAddr struct{}

func (noAddr) Network() string { return "tlslayer" }
func (noAddr) String() string  { return "" }

// wouldBlock is the error of wire.Read if the loop has to read first. It is a temporary net.Error: a tls.Conn continues after
// such an error, and treats every other error as the end.
type wouldBlock struct{}

var errWouldBlock net.Error = wouldBlock{}

func (wouldBlock) Error() string   { return "tlslayer: no complete record has arrived" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }
