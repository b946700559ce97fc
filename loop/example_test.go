package loop_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/ferry/loop"
)

// shout answers in upper case.
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

// side passes on what comes to the other side, no faster than that takes it.
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

// A relay: each connection has its counterpart on the same loop.
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

// talk says something, and returns the whole answer.
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
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}
