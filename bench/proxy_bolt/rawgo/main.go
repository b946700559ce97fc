//go:build linux

// Rawgo is a minimal Bolt proxy in Go. It forwards the requests of many client connections over a few upstream connections.
// It replaces the id of each request, and restores the id in the response. It has one thread, copies each byte once, and reads
// and writes each socket once per round of events. It has no timeouts, no checks, no counters and no limit on its queues: the
// benchmark uses it to show the least possible cost.
//
//	rawgo LISTEN BACKEND CONNECTIONS
package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/rawpoll"
)

func main() {
	runtime.LockOSThread()
	fmt.Fprintln(os.Stderr, "rawgo:", run(os.Args[1:]))
	os.Exit(1)
}

// run returns only if something fails.
func run(args []string) error {
	if len(args) != 3 {
		return errors.New("want LISTEN BACKEND CONNECTIONS")
	}
	at, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return err
	}
	backend, err := netip.ParseAddrPort(args[1])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	r := &relay{buf: make([]byte, 256<<10)}
	if r.poll, err = rawpoll.New(); err != nil {
		return err
	}
	for range count {
		fd, err := rawpoll.Dial(netip.Addr{}, backend)
		if err != nil {
			return err
		}
		c, err := r.add(fd)
		if err != nil {
			return err
		}
		c.upstream = true
		r.upstream = append(r.upstream, c)
	}
	if r.listener, err = rawpoll.Listen(at); err != nil {
		return err
	}
	if err := r.poll.Add(r.listener); err != nil {
		return err
	}
	for {
		if err := r.round(); err != nil {
			return err
		}
	}
}

type relay struct {
	poll     *rawpoll.Poll
	listener int
	conns    []*conn // by descriptor
	upstream []*conn
	turn     int // index of upstream: all requests of a round use one connection, so that they are sent and received together
	dirty    []*conn
	flights  []flight
	free     []uint32 // places in flights
	buf      []byte
}

// conn is a connection of either side.
type conn struct {
	fd       int
	upstream bool
	left     []byte // bytes of an incomplete frame
	out      []byte
	dirty    bool
	gone     bool
}

// flight is a forwarded request. Its index in flights is the request's id on the upstream connection.
type flight struct {
	from *conn
	id   [4]byte
}

func (r *relay) round() error {
	timeout := time.Duration(-1)
	if len(r.dirty) > 0 {
		timeout = time.Millisecond // some socket was full
	}
	ready, err := r.poll.Wait(timeout)
	if err != nil {
		return err
	}
	for _, fd := range ready {
		if fd == r.listener {
			err = r.accept()
		} else {
			err = r.read(r.conns[fd])
		}
		if err != nil {
			return err
		}
	}
	r.turn = (r.turn + 1) % len(r.upstream)
	full := r.dirty[:0]
	for _, c := range r.dirty {
		if c.dirty = r.flush(c); c.dirty {
			full = append(full, c)
		}
	}
	r.dirty = full
	return nil
}

func (r *relay) accept() error {
	for {
		fd, err := rawpoll.Accept(r.listener)
		if errors.Is(err, rawpoll.ErrAgain) {
			return nil
		}
		if err == nil {
			_, err = r.add(fd)
		}
		if err != nil {
			return err
		}
	}
}

func (r *relay) add(fd int) (*conn, error) {
	for len(r.conns) <= fd {
		r.conns = append(r.conns, nil)
	}
	c := &conn{fd: fd}
	r.conns[fd] = c
	return c, r.poll.Add(fd)
}

// read reads once and forwards the complete frames.
func (r *relay) read(c *conn) error {
	n, err := rawpoll.Read(c.fd, r.buf)
	if errors.Is(err, rawpoll.ErrAgain) {
		return nil
	}
	if err != nil {
		if c.upstream {
			return fmt.Errorf("the backend: %w", err)
		}
		c.gone = true
		rawpoll.Close(c.fd)
		return nil
	}
	p := r.buf[:n]
	if len(c.left) > 0 {
		c.left = append(c.left, p...)
		p = c.left
	}
	for {
		size := frameSize(p)
		if size == 0 || size > len(p) {
			break
		}
		if c.upstream {
			r.respond(p[:size])
		} else {
			r.request(c, p[:size])
		}
		p = p[size:]
	}
	c.left = append(c.left[:0], p...)
	return nil
}

// frameSize returns the length of the first frame of p, or 0 if the head of the frame is incomplete. It supports only Bolt
// version 1. There the head of a request has 22 bytes, and the head of a response has 20 bytes. The last 8 bytes of the head
// are the lengths of class, header and content.
func frameSize(p []byte) int {
	if len(p) < 22 {
		return 0
	}
	fixed := 20
	if p[1] != 0 {
		fixed = 22
	}
	l := p[fixed-8 : fixed]
	return fixed + int(l[0])<<8 + int(l[1]) + int(l[2])<<8 + int(l[3]) + int(l[4])<<24 + int(l[5])<<16 + int(l[6])<<8 + int(l[7])
}

const idAt = 5 // in a frame

// request forwards a request over the round's connection.
func (r *relay) request(c *conn, frame []byte) {
	if len(r.free) == 0 {
		r.free = append(r.free, uint32(len(r.flights)))
		r.flights = append(r.flights, flight{})
	}
	place := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	r.flights[place] = flight{c, [4]byte(frame[idAt:])}
	frame[idAt], frame[idAt+1], frame[idAt+2], frame[idAt+3] = byte(place>>24), byte(place>>16), byte(place>>8), byte(place)
	r.write(r.upstream[r.turn], frame)
}

// respond forwards a response to the connection of its request.
func (r *relay) respond(frame []byte) {
	place := uint32(frame[idAt])<<24 | uint32(frame[idAt+1])<<16 | uint32(frame[idAt+2])<<8 | uint32(frame[idAt+3])
	f := r.flights[place]
	r.free = append(r.free, place)
	copy(frame[idAt:], f.id[:])
	r.write(f.from, frame)
}

func (r *relay) write(c *conn, frame []byte) {
	if c.gone {
		return
	}
	c.out = append(c.out, frame...)
	if !c.dirty {
		c.dirty = true
		r.dirty = append(r.dirty, c)
	}
}

// flush writes what is queued, and reports whether something is left.
func (r *relay) flush(c *conn) (full bool) {
	if c.gone {
		return false
	}
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(c.fd), uintptr(unsafe.Pointer(unsafe.SliceData(c.out))), uintptr(len(c.out)))
	if errno != 0 && errno != unix.EAGAIN {
		n = uintptr(len(c.out)) // the peer has closed: the next read returns the end
	} else if errno != 0 {
		n = 0
	}
	c.out = c.out[:copy(c.out, c.out[n:])]
	return len(c.out) > 0
}
