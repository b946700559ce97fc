package loop

import (
	"errors"
	"net"
	"time"
)

// sockets is what one loop needs of the operating system: events, and calls that do not wait. epoll and goroutineSockets
// implement it; all other code is the same for both. A socket has a number, which is used again after it is closed, and a
// generation, which is not. Together they tell a late event from one of the number's next user.
//
// Only the loop calls the methods, except wake. ErrAgain says that nothing can be done now and that an event follows.
type sockets interface {
	// wait fills events. It returns as soon as there are some, or after timeout; negative means no limit.
	wait(events []event, timeout time.Duration) (int, error)
	// wake ends a wait. Any goroutine may call it.
	wake()
	// listen registers l, which other loops may share: an event tells of connections.
	listen(l net.Listener, gen uint32) (id int32, err error)
	accept(listener int32) (id int32, err error)
	// dial begins to connect. An event follows; connected returns the result then.
	dial(to Addr) (id int32, err error)
	connected(id int32) error
	// failed returns the error of a socket whose peer had ended its side; nil if there is none, or it is not known.
	failed(id int32) error
	// watch registers a socket: events tell what can be read, and of a socket that connects, the end of that.
	watch(id int32, gen uint32, connecting bool) error
	// wantWrite sets whether an event tells that the socket can be written to.
	wantWrite(id int32, gen uint32, on bool) error
	// read returns io.EOF at the end. Fewer bytes than len(p) mean that there are no more now.
	read(id int32, p []byte) (int, error)
	// write returns how many bytes of the queue were written, now or since a call that returned ErrAgain. Between the two
	// calls the queue may only grow at its end.
	write(id int32, queue *chunk) (int, error)
	// unsent returns how many written bytes the peer has not acknowledged; 0 if the system does not say.
	unsent(id int32) int
	closeWrite(id int32) error
	// close frees the number; reset makes the peer see a reset instead of an end.
	close(id int32, reset bool)
	// addrs returns nil for an address that is not known.
	addrs(id int32) (local, remote net.Addr)
	// release frees everything. No other method is called after it.
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
