package peer

import (
	"errors"
	"io"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Receiver handles the frames of one stream. One goroutine calls its methods.
type Receiver interface {
	// BatchBegins is called before the frames of one read are handled. BatchEnds is called after them, or after an
	// error.
	BatchBegins()
	BatchEnds()

	// Pubs handles the PUB frames at the start of batch and returns their length in bytes. The first frame is a PUB.
	// shared is the buffer of a large frame, or with Config.Lend of many small ones, or nil. Both are valid only during the call.
	Pubs(batch []byte, shared *bufpool.Buf) (n int, err error)

	// BeforePong is called before the response to the PING with this value. That response confirms all earlier frames of the
	// stream. If it returns false, the Receiver calls Conn.Pong later.
	BeforePong(value uint64) bool
}

// Table lists the frame kinds that an end accepts besides PUB, PING, GOAWAY and JOIN, with their handlers. A frame of
// another kind ends the connection.
type Table[R Receiver] [32]Kind[R]

// Kind describes one frame kind: the streams on which it may arrive, and its handler. If Handle is nil, the kind is
// refused.
type Kind[R Receiver] struct {
	OnData bool // the kind may also arrive on data streams
	Handle func(R, native.Frame) error
}

// Serve starts the connection's goroutines and reads until the connection is closed. It calls newReceiver for each
// stream. It returns the reason when all goroutines have ended. Call it once, after the handshake.
func Serve[R Receiver](c *Conn, table *Table[R], newReceiver func() R) error {
	go func() {
		if err := c.control.Run(c.raw); err != nil {
			c.Close(err)
		}
	}()
	if c.multi != nil {
		c.readers.Add(1)
		go acceptStreams(c, table, newReceiver)
	}
	c.Close(readStream(c, table, newReceiver(), c.reader, false))
	c.readers.Done()
	<-c.closed
	return c.Err()
}

// readStream handles the frames of one stream until it ends.
func readStream[R Receiver](c *Conn, table *Table[R], r R, in *FrameReader, data bool) error {
	in.lend = c.cfg.Lend
	c.watch(in)
	defer c.unwatch(in)
	for {
		batch, shared, err := in.Next()
		if err != nil {
			return err
		}
		if c.State() >= Closing {
			continue
		}
		if err := Dispatch(c, table, r, batch, shared, data); err != nil {
			return err
		}
	}
}

// Dispatch passes a batch of whole frames to their handlers. Serve calls it for each read. Benchmarks may call it
// directly.
func Dispatch[R Receiver](c *Conn, table *Table[R], r R, batch []byte, shared *bufpool.Buf, data bool) error {
	r.BatchBegins()
	defer r.BatchEnds()
	for len(batch) > 0 {
		f := native.Frame(batch[:native.Size(batch)])
		n := len(f)
		var err error
		switch kind := f.Kind(); {
		case kind == native.Pub:
			n, err = r.Pubs(batch, shared)
		case kind == native.Ping:
			err = c.ping(f, r)
		case int(kind) < len(table) && table[kind].Handle != nil && (table[kind].OnData || !data):
			err = table[kind].Handle(r, f)
		case kind == native.Goaway && !data:
			err = c.goaway(f)
		case data:
			err = Unexpected(f, "on a data stream")
		default:
			err = Unexpected(f, "from a "+c.cfg.Remote)
		}
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

func (c *Conn) ping(f native.Frame, r Receiver) error {
	v, err := native.ParsePing(f)
	switch {
	case err != nil:
		return err
	case f.Flags()&native.FlagAck != 0:
		c.passBarrier(v)
	case r.BeforePong(v):
		c.Pong(v)
	}
	return nil
}

// Pong sends the response to the PING with this value.
func (c *Conn) Pong(value uint64) {
	c.Respond(func(b []byte) []byte { return native.AppendPing(b, true, value) })
}

// goaway handles a GOAWAY: the peer is stopping or has ended.
func (c *Conn) goaway(f native.Frame) error {
	v, err := native.ParseGoaway(f)
	switch {
	case err != nil:
		return err
	case v.Code == native.CodeDraining && c.cfg.OnDrain != nil:
		c.leaving.Store(true)
		if c.moveTo(Draining) {
			go c.cfg.OnDrain()
		}
		return nil
	case v.Code == native.CodeOK || v.Code == native.CodeDraining:
		return io.EOF
	}
	return remoteError{&native.Error{Code: v.Code, Reason: v.Reason}}
}

// errNoJoin is the error of a data stream whose first frame is not JOIN.
var errNoJoin = &native.Error{Code: native.CodeProtocol, Reason: "a data stream that does not begin with JOIN"}

// readDataStream reads a data stream that the peer has opened. The end of the stream does not close the connection.
func readDataStream[R Receiver](c *Conn, table *Table[R], r R, in *FrameReader) {
	defer c.readers.Done()
	f, err := in.First()
	switch {
	case err != nil:
		in.Close()
	case f.Kind() != native.Join:
		err = errNoJoin
		in.Close()
	default:
		in.SetMaxFrame(c.maxFrame)
		err = readStream(c, table, r, in, true)
	}
	if !errors.Is(err, io.EOF) {
		c.Close(err)
	}
}
