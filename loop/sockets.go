package loop

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// sockets is what one loop needs from the operating system: events, and calls that do not block. epoll and goroutineSockets
// implement it; all other code is the same for both. Each socket has a number and a generation. A number is reused after its
// socket is closed; a generation is not. So the loop can tell a late event from an event for the number's next user.
//
// Any goroutine may call wake. Only the loop calls the other methods. ErrAgain means that nothing can be done now and that an
// event follows.
type sockets interface {
	// wait stores events and returns their number. It returns as soon as there is one, or after timeout; a negative timeout
	// means no limit.
	wait(events []event, timeout time.Duration) (int, error)
	// wake ends a wait. Any goroutine may call it.
	wake()
	// listen registers l. Several loops may share l. An event reports waiting connections.
	listen(l net.Listener, gen uint32) (id int32, err error)
	// accept returns the number of a new socket, and its peer's address, which is the zero AddrPort for a Unix domain socket.
	accept(listener int32) (id int32, from netip.AddrPort, err error)
	// detach frees the number of a socket that is not watched, and leaves the socket open. attach gives it a number of another
	// loop.
	detach(id int32) detached
	attach(s detached) (id int32)
	// dial starts to connect. An event follows; then connected returns the result.
	dial(to Addr) (id int32, err error)
	connected(id int32) error
	// failed returns the error of a socket after the peer has ended its side. It returns nil if there is no error, or if the
	// system does not report it.
	failed(id int32) error
	// watch registers a socket. Events report bytes to read and, for a connecting socket, the end of the attempt.
	watch(id int32, gen uint32, connecting bool) error
	// wantWrite sets whether an event reports that the socket accepts bytes.
	wantWrite(id int32, gen uint32, on bool) error
	// read returns io.EOF at the end of the stream. If it returns fewer than len(p) bytes, there are no more now.
	read(id int32, p []byte) (int, error)
	// write returns how many bytes of the queue were written, by this call or since a call that returned ErrAgain. Between
	// these two calls the caller may only append to the queue.
	write(id int32, queue *chunk) (int, error)
	// unsent returns how many written bytes the peer has not acknowledged, or 0 if the system does not report that.
	unsent(id int32) int
	closeWrite(id int32) error
	// close closes the socket and frees its number. If reset is true, the peer sees a reset instead of an end.
	close(id int32, reset bool)
	// addrs returns the addresses of both ends, nil for one that is not known.
	addrs(id int32) (local, remote net.Addr)
	// release frees everything. It is the last call.
	release()
}

// event reports that a socket is ready.
type event struct {
	id    int32
	gen   uint32
	ready ready
}

// detached is an accepted socket on its way from one loop to another.
type detached struct {
	fd   int32    // epoll's
	conn net.Conn // goroutineSockets'
}

type ready uint8

const (
	readyRead  ready = 1 << iota
	readyWrite       // the socket accepts bytes, or a connection attempt has ended
	readyEnd         // the peer has ended its side, or the connection failed
)

// ErrAgain means that nothing can be done now. The loop calls again when that may have changed.
var ErrAgain = errors.New("loop: not ready")
