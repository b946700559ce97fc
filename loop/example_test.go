package loop_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/ferry/loop"
)

// shout responds in upper case.
type shout struct{ loop.Base }

func (shout) Data(c *loop.Conn, p []byte) int {
	for i, b := range p {
		if 'a' <= b && b <= 'z' {
			p[i] = b - 'a' + 'A'
		}
	}
	c.Write(p)
	return len(p)
}

// A handler is called on its connection's loop, so it needs no lock.
func Example() {
	g, err := loop.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := g.Listen(at, func(*loop.Conn) loop.Handler { return shout{} })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(talk(ln.Addr(), "hello"))
	fmt.Println(g.Shutdown(context.Background()))
	// Output:
	// HELLO
	// <nil>
}

// side forwards received bytes to the other side. It pauses while the other side is full.
type side struct {
	loop.Base
	other *loop.Conn
}

func (s *side) Data(c *loop.Conn, p []byte) int {
	s.other.Write(p)
	if s.other.Full() {
		c.PauseReading()
	}
	return len(p)
}

func (s *side) Drained(*loop.Conn)    { s.other.ResumeReading() }
func (s *side) HalfClosed(*loop.Conn) { s.other.CloseWrite() }

func (s *side) Closed(_ *loop.Conn, err error) {
	if err != nil {
		s.other.Abort(err)
	}
}

// A relay dials a second connection for each accepted one, on the same loop.
func ExampleLoop_Dial() {
	g, err := loop.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	upstream, err := g.Listen(at, func(*loop.Conn) loop.Handler { return shout{} })
	if err != nil {
		fmt.Println(err)
		return
	}
	to, err := loop.ParseAddr(upstream.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	downstream, err := g.Listen(at, func(c *loop.Conn) loop.Handler {
		return &side{other: c.Loop().Dial(to, time.Second, &side{other: c})}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(talk(downstream.Addr(), "through two loops' worth of sockets"))
	fmt.Println(g.Shutdown(context.Background()))
	// Output:
	// THROUGH TWO LOOPS' WORTH OF SOCKETS
	// <nil>
}

// talk sends text and returns the whole response.
func talk(to net.Addr, text string) string {
	conn, err := net.Dial(to.Network(), to.String())
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return err.Error()
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err.Error()
	}
	response, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(response)
}

// rot13 is a layer that shifts each letter by 13 places, in both directions.
type rot13 struct{ socket *loop.Socket }

func (r *rot13) Start(s *loop.Socket) { r.socket = s }

// Handshake could return loop.ErrAgain until the peer has responded.
func (r *rot13) Handshake() error { return nil }

func (r *rot13) Read(p []byte) (int, error) {
	n, err := r.socket.Read(p)
	rotate(p[:n])
	return n, err
}

func (r *rot13) Write(p []byte) (int, error) {
	b := bytes.Clone(p)
	rotate(b)
	r.socket.Write(b)
	return len(p), nil
}

func (r *rot13) CloseWrite() error { return nil }
func (r *rot13) Close()            {}

func rotate(p []byte) {
	for i, b := range p {
		switch {
		case 'a' <= b && b <= 'z':
			p[i] = 'a' + (b-'a'+13)%26
		case 'A' <= b && b <= 'Z':
			p[i] = 'A' + (b-'A'+13)%26
		}
	}
}

// A layer stands between a connection and its socket. The handler is chosen when the layer is ready.
func ExampleConn_SetLayer() {
	g, err := loop.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := g.Listen(at, func(c *loop.Conn) loop.Handler {
		c.SetLayer(&rot13{}, func(*loop.Conn) loop.Handler { return shout{} })
		return loop.Base{}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(talk(ln.Addr(), "uryyb")) // "hello", shifted
	fmt.Println(g.Shutdown(context.Background()))
	// Output:
	// URYYB
	// <nil>
}

// Goroutines reach a loop by posting functions.
func ExampleLoop_Post() {
	g, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	l := g.Loops()[0]
	conns := make(chan int)
	if err := l.Post(func() { conns <- l.Stats().Conns }); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-conns, "connections")
	fmt.Println(g.Shutdown(context.Background()))
	fmt.Println(l.Post(func() {}))
	// Output:
	// 0 connections
	// <nil>
	// use of closed network connection
}

// A timer of a loop belongs to no connection.
func ExampleLoop_NewTimer() {
	g, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	l := g.Loops()[0]
	fired := make(chan struct{})
	if err := l.Post(func() {
		l.NewTimer(func() { close(fired) }).Set(20 * time.Millisecond)
		l.NewTimer(func() { fmt.Println("a year later") }).Set(365 * 24 * time.Hour)
	}); err != nil {
		fmt.Println(err)
		return
	}
	<-fired
	fmt.Println("fired")
	fmt.Println(g.Shutdown(context.Background()))
	// Output:
	// fired
	// <nil>
}

// An address is numeric, or the path of a Unix domain socket.
func ExampleParseAddr() {
	for _, s := range []string{"127.0.0.1:80", "unix:/run/a.sock", "localhost:80"} {
		a, err := loop.ParseAddr(s)
		if err != nil {
			fmt.Println("not an address:", s)
			continue
		}
		fmt.Println(a)
	}
	// Output:
	// 127.0.0.1:80
	// unix:/run/a.sock
	// not an address: localhost:80
}
