package loop

import (
	"errors"
	"net"
	"time"
)

// sockets is what one loop asks of the operating system: readiness, and calls that do not wait. epoll and goroutines are
// the two that do it, and all else is the same code for both. A socket has a number, which is used again when it is
// closed, and a generation, which is not: together they tell an event that comes late from one of the number's next user.
//
// All methods but wake are called by the loop only. ErrAgain says that nothing can be done now and an event will follow.
type sockets interface {
	// wait fills events. It returns at once if some are there, and else after timeout; negative means no limit.
	wait(events []event, timeout time.Duration) (int, error)
	// wake ends a wait from any goroutine.
	wake()
	// listen takes over l, which other loops may share, and tells of connections from then on.
	listen(l net.Listener, gen uint32) (id int32, err error)
	accept(listener int32) (id int32, err error)
	// dial begins to connect. An event follows, and connected says how it went.
	dial(to Addr) (id int32, err error)
	connected(id int32) error
	// failed is what has happened to a socket since its peer ended its side; nil if nothing has, or nobody can tell.
	failed(id int32) error
	// watch tells of events of a socket from then on; of one that is connecting, of the end of that too.
	watch(id int32, gen uint32, connecting bool) error
	// wantWrite switches whether an event comes when the socket can be written to.
	wantWrite(id int32, gen uint32, on bool) error
	// read returns io.EOF at the end. Fewer bytes than p has room for mean that there are no more now.
	read(id int32, p []byte) (int, error)
	// write returns how many bytes of the queue have been written since the last call that returned ErrAgain, or now: what
	// is queued may only be appended to in between.
	write(id int32, queue *chunk) (int, error)
	// unsent is how many written bytes the peer has not acknowledged; 0 if the system does not say.
	unsent(id int32) int
	closeWrite(id int32) error
	// close gives the number back; reset makes the peer see a reset instead of an end.
	close(id int32, reset bool)
	// addrs is nil for what is not known.
	addrs(id int32) (local, remote net.Addr)
	// release gives everything back. No other method is called after it.
	release()
}

// event says that a socket is ready.
type event struct {
	id    int32
	gen   uint32
	ready ready
}

type ready uint8

const (
	readyRead  ready = 1 << iota
	readyWrite       // or a connection attempt has ended
	readyEnd         // the peer has ended its side, or the connection failed
)

// ErrAgain says that nothing can be done now, and that the loop calls again when that may have changed.
var ErrAgain = errors.New("loop: not ready")
