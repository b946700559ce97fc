package keepalive

import (
	"errors"
	"fmt"
	"os"

	"example.com/ferry/bench/internal/rawpoll"
)

// serve responds to requests at an address until this process is ended.
func serve(w wire, addr string) error {
	at, err := addrPort(addr)
	if err != nil {
		return err
	}
	listener, err := rawpoll.Listen(at)
	if err != nil {
		return err
	}
	poll, err := rawpoll.New()
	if err != nil {
		return err
	}
	b := backend{wire: w, poll: poll, buf: make([]byte, 64<<10)}
	if err := poll.Add(listener); err != nil {
		return err
	}
	for {
		ready, err := poll.Wait(-1)
		if err != nil {
			return err
		}
		for _, fd := range ready {
			if fd == listener {
				err = b.accept(listener)
			} else {
				b.serve(fd)
			}
			if err != nil {
				return err
			}
		}
	}
}

type backend struct {
	wire wire
	poll *rawpoll.Poll
	in   [][]byte // incomplete requests, by descriptor
	buf  []byte   // read buffer
	out  []byte   // write buffer
}

func (b *backend) accept(listener int) error {
	for {
		fd, err := rawpoll.Accept(listener)
		if errors.Is(err, rawpoll.ErrAgain) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("keepalive: accept: %w", err)
		}
		for len(b.in) <= fd {
			b.in = append(b.in, nil)
		}
		if err := b.poll.Add(fd); err != nil {
			return err
		}
	}
}

// serve responds to the requests that have arrived on a connection. It closes the connection after a malformed request, and
// the client then counts a failure.
func (b *backend) serve(fd int) {
	k, err := rawpoll.Read(fd, b.buf)
	if errors.Is(err, rawpoll.ErrAgain) {
		return
	}
	if err != nil {
		b.close(fd)
		return
	}
	in := b.buf[:k]
	if len(b.in[fd]) > 0 {
		b.in[fd] = append(b.in[fd], in...)
		in = b.in[fd]
	}
	b.out = b.out[:0]
	for len(in) > 0 {
		var n int
		if b.out, n, err = b.wire.respond(b.out, in); err != nil {
			fmt.Fprintln(os.Stderr, "keepalive: backend:", err)
			b.close(fd)
			return
		}
		if n == 0 {
			break
		}
		in = in[n:]
	}
	b.in[fd] = append(b.in[fd][:0], in...)
	if len(b.out) > 0 && rawpoll.Write(fd, b.out) != nil {
		b.close(fd)
	}
}

func (b *backend) close(fd int) {
	rawpoll.Close(fd)
	b.in[fd] = nil
}
