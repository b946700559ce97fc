package rpcload

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"example.com/ferry/bench/internal/harness"
)

// Limit is the least that an RPC system in Go does: google's protobuf, a goroutine with a context and a deadline for each request, and
// frames that are gathered before a write.
const Limit = "limit, calls on bare TCP"

// muxHeader is the length of a frame after it (4 bytes), the number of the call (4 bytes), and of a request the time that the caller
// waits, in ms (4 bytes; 0 in a response).
const muxHeader = 12

func mux() System {
	return System{Name: Limit, Version: "a goroutine and a deadline each", Kind: harness.Limit, Serve: serveMux, Dial: dialMux}
}

func serveMux(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveMuxConn(conn)
		}
	}()
	return l.Addr().String(), nil
}

// serveMuxConn ends when the connection does.
func serveMuxConn(conn net.Conn) {
	w := newGatherer(conn)
	_ = readFrames(conn, func(id, wait uint32, body []byte) error {
		data := append([]byte(nil), body...)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(wait)*time.Millisecond)
			defer cancel()
			in := new(Message)
			if err := proto.Unmarshal(data, in); err != nil || ctx.Err() != nil {
				_ = conn.Close()
				return
			}
			_ = w.send(id, 0, respond(in))
		}()
		return nil
	})
	_ = conn.Close()
	w.close()
}

// readFrames calls handle for each frame, until the connection ends. body is valid until handle returns.
func readFrames(conn net.Conn, handle func(id, wait uint32, body []byte) error) error {
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		head, err := r.Peek(muxHeader)
		if err != nil {
			return err
		}
		size := int(binary.LittleEndian.Uint32(head))
		id, wait := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
		frame, err := r.Peek(muxHeader + size)
		if err != nil {
			return err
		}
		if err := handle(id, wait, frame[muxHeader:]); err != nil {
			return err
		}
		if _, err := r.Discard(muxHeader + size); err != nil {
			return err
		}
	}
}

// gatherer writes frames. Those that come before or during a write go out together.
type gatherer struct {
	mu      sync.Mutex
	pending []byte
	closed  bool
	wake    chan struct{}
}

func newGatherer(conn net.Conn) *gatherer {
	w := &gatherer{wake: make(chan struct{}, 1)}
	go func() {
		var writing []byte
		for range w.wake {
			runtime.Gosched() // goroutines that are about to send do so first
			w.mu.Lock()
			writing, w.pending = w.pending, writing[:0]
			w.mu.Unlock()
			if len(writing) == 0 {
				continue
			}
			if _, err := conn.Write(writing); err != nil {
				_ = conn.Close() // the reader ends, and closes w
			}
		}
	}()
	return w
}

func (w *gatherer) send(id, wait uint32, m *Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return net.ErrClosed
	}
	start := len(w.pending)
	var head [muxHeader]byte
	binary.LittleEndian.PutUint32(head[4:], id)
	binary.LittleEndian.PutUint32(head[8:], wait)
	data, err := proto.MarshalOptions{}.MarshalAppend(append(w.pending, head[:]...), m)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(data[start:], uint32(len(data)-start-muxHeader))
	w.pending = data
	if start == 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

func (w *gatherer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.wake)
	}
}

// muxClient gives each connection the same number of workers. A worker's number is that of its calls.
type muxClient struct {
	conns    []net.Conn
	writers  []*gatherer
	waiting  []chan *Message // of each worker; nil means that its connection has ended
	messages []*Message
}

func dialMux(_ context.Context, s Spec) (Client, error) {
	c := &muxClient{messages: messages(s)}
	for range s.Workers {
		c.waiting = append(c.waiting, make(chan *Message, 1))
	}
	for range s.Conns {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return nil, err
		}
		c.conns, c.writers = append(c.conns, conn), append(c.writers, newGatherer(conn))
	}
	for i := range s.Conns {
		go c.read(i, s.Conns)
	}
	return c, nil
}

// read wakes the workers of a connection.
func (c *muxClient) read(conn, conns int) {
	_ = readFrames(c.conns[conn], func(id, _ uint32, body []byte) error {
		m := new(Message)
		if int(id) >= len(c.waiting) {
			return fmt.Errorf("rpcload: a response to worker %d", id)
		}
		if err := proto.Unmarshal(body, m); err != nil {
			return err
		}
		c.waiting[id] <- m
		return nil
	})
	c.writers[conn].close()
	for i := conn; i < len(c.waiting); i += conns {
		select {
		case c.waiting[i] <- nil:
		default:
		}
	}
}

func (c *muxClient) Call(worker int) error {
	if err := c.writers[worker%len(c.conns)].send(uint32(worker), uint32(callTime.Milliseconds()), c.messages[worker]); err != nil {
		return err
	}
	m := <-c.waiting[worker]
	if m == nil {
		return io.ErrUnexpectedEOF
	}
	return verify(m)
}

func (c *muxClient) Close() error {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	return nil
}
