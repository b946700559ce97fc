package peer

import (
	"errors"
	"io"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Receiver handles what arrives on one stream. Its methods are called by one goroutine.
type Receiver interface {
	// BatchBegins is called before the frames of one read are handled, BatchEnds after them or after an error.
	BatchBegins()
	BatchEnds()

	// Pubs handles the leading frames of batch, of which the first is a PUB, and returns their length in bytes. shared is
	// the buffer that a large frame lies in, else nil. Both are borrowed.
	Pubs(batch []byte, shared *bufpool.Buf) (n int, err error)

	// BeforePong is called before a PING is answered: the answer confirms everything that came before it on the stream.
	BeforePong()
}

// Table is the frame kinds that an end takes beside PUB, PING, GOAWAY and JOIN, with their handlers. A frame of another kind
// ends the connection.
type Table[R Receiver] [32]Kind[R]

// Kind is the streams on which a frame kind may arrive, and its handler. Nil Handle means that it may not arrive.
type Kind[R Receiver] struct {
	OnData bool // on data streams, too
	Handle func(R, native.Frame) error
}

// Serve starts the connection's goroutines and reads until the connection is closed; newReceiver is called for each stream.
// It returns when all goroutines have ended, with the reason. It is called once, after the handshake.
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

// Dispatch passes a batch of whole frames to their handlers. Serve calls it for each read; a benchmark may call it with
// frames of its own.
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
			err = unexpected(f, "on a data stream")
		default:
			err = unexpected(f, "from a "+c.cfg.Remote)
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
	default:
		r.BeforePong()
		c.Respond(func(b []byte) []byte { return native.AppendPing(b, true, v) })
	}
	return nil
}

// goaway handles the peer's announcement that it stops or has ended.
func (c *Conn) goaway(f native.Frame) error {
	v, err := native.ParseGoaway(f)
	switch {
	case err != nil:
		return err
	case v.Code == native.CodeDraining && c.cfg.OnDrain != nil:
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

// readDataStream reads a data stream that the peer has opened. Its end is no reason to close the connection.
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
