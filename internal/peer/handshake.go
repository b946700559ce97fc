package peer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// maxCount bounds each limit in WELCOME, in bytes, because an int may have 32 bits.
const maxCount = 1 << 30

// Connect does the client's part of the handshake: it sends HELLO with the versions of Config and waits for WELCOME.
// The caller limits the wait by a deadline or by closing the socket. After an error the caller closes the socket.
func (c *Conn) Connect(hello native.HelloFrame) (native.WelcomeFrame, error) {
	hello.MinVersion, hello.MaxVersion = c.cfg.Lowest, c.cfg.Highest
	if n := len(hello.Token) + len(hello.Name); n > native.MaxHandshake-64 {
		return native.WelcomeFrame{}, fmt.Errorf("token and name of %d bytes: at most %d", n, native.MaxHandshake-64)
	}
	if _, err := c.raw.Write(native.AppendHello(nil, hello)); err != nil {
		return native.WelcomeFrame{}, err
	}
	w, err := c.readWelcome()
	if err != nil {
		c.reader.Close()
		return w, err
	}
	w.MaxFrame, w.Window = min(w.MaxFrame, maxCount), min(w.Window, maxCount)
	accepted := int(w.MaxFrame)
	if w.Version >= native.StoredVersion {
		accepted += native.StoredOverhead
	}
	c.establish(w, accepted)
	return w, nil
}

func (c *Conn) readWelcome() (w native.WelcomeFrame, err error) {
	f, err := c.reader.First()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the %s closed the connection before it said who it is: is this a ferry node?", c.cfg.Remote)
		}
		return w, err
	}
	switch f.Kind() {
	case native.Welcome:
		if w, err = native.ParseWelcome(f); err != nil {
			return w, err
		}
		switch {
		case w.Version < c.cfg.Lowest || w.Version > c.cfg.Highest:
			err = &native.Error{Code: native.CodeVersion, Reason: fmt.Sprintf("the %s chose version %d, this end speaks %d to %d", c.cfg.Remote, w.Version, c.cfg.Lowest, c.cfg.Highest)}
		case w.MaxFrame < native.PubHeaderSize || w.Heartbeat == 0:
			err = &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("WELCOME with frames of %d bytes and a heartbeat of %d ms", w.MaxFrame, w.Heartbeat)}
		}
		return w, err
	case native.Goaway:
		g, err := native.ParseGoaway(f)
		if err == nil {
			err = remoteError{&native.Error{Code: g.Code, Reason: g.Reason}}
		}
		return w, err
	}
	return w, Unexpected(f, "before WELCOME")
}

// Accept does the first part of the node's handshake: it waits for HELLO and chooses the version. The Token of the
// HELLO is a view. Welcome or Refuse ends the handshake. The caller limits the wait by the socket's read deadline.
func (c *Conn) Accept() (native.HelloFrame, error) {
	f, err := c.reader.First()
	if err != nil {
		var e *native.Error
		var t net.Error
		switch {
		case errors.As(err, &e):
			err = &native.Error{Code: native.CodeProtocol, Reason: "this is not a ferry client: " + e.Reason}
		case errors.As(err, &t) && t.Timeout():
			err = &native.Error{Code: native.CodeTimeout, Reason: "no HELLO in time"}
		}
		return native.HelloFrame{}, err
	}
	return c.Hello(f)
}

// Welcome accepts the client. It sends w with the version that Accept chose. If the transport has no streams, it sets
// w.Streams to 0.
func (c *Conn) Welcome(w native.WelcomeFrame) {
	w.Version = c.version
	if _, ok := c.raw.(transport.Multi); !ok {
		w.Streams = 0
	}
	c.Tell(func(b []byte) []byte { return native.AppendWelcome(b, w) })
	c.establish(w, int(w.MaxFrame))
}

// establish begins the exchange of frames. The other end may send frames of up to maxFrame bytes.
func (c *Conn) establish(w native.WelcomeFrame, maxFrame int) {
	c.version, c.maxFrame = w.Version, maxFrame
	if c.reader != nil {
		c.reader.SetMaxFrame(c.maxFrame)
	}
	if m, ok := c.raw.(transport.Multi); ok && w.Streams > 0 {
		c.multi, c.data = m, make([]*FrameWriter, w.Streams)
	}
	c.moveTo(Established)
}

// Refuse ends a connection in state Handshake. If why is a *native.Error, the client gets it in GOAWAY. Refuse returns
// when the socket is closed.
func (c *Conn) Refuse(why error) {
	if !c.moveTo(Closed) {
		return
	}
	var e *native.Error
	if errors.As(why, &e) {
		_ = c.raw.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.raw.Write(native.AppendGoaway(nil, native.GoawayFrame{Code: e.Code, Reason: e.Reason}))
	}
	if c.reader != nil {
		c.reader.Close()
	}
	c.cancel(why)
	_ = c.raw.Close()
	close(c.closed)
}

// Unexpected returns the error for a frame that may not arrive where it did, such as "before HELLO".
func Unexpected(f native.Frame, where string) error {
	return &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("%v frame %s", f.Kind(), where)}
}
