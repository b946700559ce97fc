package tlslayer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
)

// ErrNotTLS means that the client's first byte does not begin a TLS record. The client probably speaks HTTP in cleartext.
var ErrNotTLS = errors.New("tlslayer: the client does not speak TLS")

// maxClientMessage is the most bytes that are stored of an incomplete handshake message of a client after the handshake. A
// key update has 5 (RFC 8446, section 4.6.3). crypto/tls would store 64 KiB.
const maxClientMessage = 512

var errLongMessage = errors.New("tlslayer: the client sent a long handshake message after the handshake")

// Layer is TLS on one connection. It implements loop.Layer. Only the connection's loop may call its methods.
type Layer struct {
	loop   *loop.Loop
	socket *loop.Socket
	config *tls.Config // nil once the handshake has begun
	bound  *Bound
	shared *readBuffer
	shake  *handshake // nil before the ClientHello has arrived and after the handshake
	conn   *tls.Conn  // set by the handshake's goroutine; used by the loop after the handshake

	kept       *bufpool.Buf // received bytes that were moved out of the shared buffer; nil if there are none
	keptOff    int          // bytes of kept that were consumed
	recordLeft int          // bytes of the current record that conn has not read
	readErr    error        // result of conn.Read that Read returns next

	phase  phase
	client bool
	plain  bool  // conn may hold decrypted bytes
	lent   bool  // the shared record buffer is conn's rawInput
	held   int32 // memory in bytes that loop counts for the connection: see account
}

// phase is the phase of a Layer.
//
//	server: awaitingHello ──ClientHello──► shaking ──► ready ──► closed
//	client:                     Start ───► shaking
//
// Close leads from every phase to closed. In the phase shaking the handshake may wait for a place (Bound), or run on its
// goroutine; the loop passes received bytes to it in both cases.
type phase uint8

const (
	awaitingHello phase = iota
	shaking
	ready
	closed
)

var _ loop.Buffered = (*Layer)(nil)

// ConnectionState returns the result of the handshake. It may be called from the time when the layer is ready, also in the
// function that SetLayer gets. It allocates.
func (t *Layer) ConnectionState() tls.ConnectionState {
	if t.phase != ready {
		return tls.ConnectionState{}
	}
	return t.conn.ConnectionState()
}

// Start begins the handshake of a client. A server waits for the ClientHello.
func (t *Layer) Start(s *loop.Socket) {
	t.socket = s
	if t.client {
		t.shake = newHandshake(t, nil)
	}
}

// Handshake returns nil after a successful handshake.
func (t *Layer) Handshake() error {
	if t.phase == awaitingHello {
		if err := t.awaitHello(); err != nil {
			return err
		}
	}
	h := t.shake
	if !h.entered {
		h.entered = true
		if err := t.bound.enter(h); err != nil {
			return err
		}
	}
	for !h.done {
		room := h.room()
		if room == 0 {
			return loop.ErrAgain
		}
		n, err := t.readSocket(room)
		if errors.Is(err, loop.ErrAgain) {
			return err
		}
		if err != nil && t.bound.places.abandon(h) {
			return err // the peer left before its handshake began
		}
		p := t.pending()
		h.received(p, err)
		t.consume(len(p))
		if err != nil && n == 0 {
			return loop.ErrAgain // the goroutine ends the handshake, maybe with an alert that arrived before
		}
	}
	if h.err != nil {
		return h.err
	}
	t.phase, t.shake = ready, nil
	buffersOf(t.conn).release()
	if rest := h.rest(); len(rest) > 0 {
		t.keep(rest)
	}
	return nil
}

// awaitHello reads until the ClientHello is complete. Then the handshake begins.
func (t *Layer) awaitHello() error {
	for {
		if p := t.pending(); len(p) > 0 {
			if p[0] != recordHandshake {
				t.socket.Write(alertUnexpectedMessage)
				return ErrNotTLS
			}
			if helloArrived(p) {
				t.phase, t.shake = shaking, newHandshake(t, splitHello(p))
				t.consume(len(p))
				return nil
			}
		}
		if _, err := t.readSocket(maxHello - len(t.pending())); err != nil {
			return err
		}
	}
}

// Read decrypts complete records. An end of the connection without close_notify is io.EOF for a server. For a client it is an
// error, because the response may be truncated (RFC 9112, section 9.8).
func (t *Layer) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && t.readErr == nil {
		for !t.plain && !t.recordArrived() {
			_, err := t.readSocket(sharedSize)
			switch {
			case err == nil:
				continue
			case n > 0:
				return n, nil // the socket returns the error again
			case errors.Is(err, io.EOF) && (t.client || len(t.pending()) > 0):
				return 0, fmt.Errorf("tlslayer: the peer ended the connection without close_notify: %w", io.ErrUnexpectedEOF)
			}
			return 0, err
		}
		if n > 0 && !t.plain && len(p)-n < t.recordLen() {
			break // the next call decrypts the record without splitting it
		}
		t.lend()
		before := t.plain
		k, err := t.conn.Read(p[n:])
		n += k
		t.plain = k > 0 && n == len(p)
		t.takeBack()
		if t.plain != before {
			t.account()
		}
		switch {
		case !errors.Is(err, errWouldBlock): // otherwise conn has read records without data, such as a key update
			t.readErr = err
		case !t.client && buffersOf(t.conn).handLen() > maxClientMessage:
			t.readErr = errLongMessage
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, t.readErr
}

// Buffered reports whether bytes have arrived that Read has not returned, or the end of the connection.
func (t *Layer) Buffered() bool { return t.plain || t.readErr != nil || len(t.pending()) > 0 }

// Write encrypts p into records of at most 16 KiB.
func (t *Layer) Write(p []byte) (int, error) { return t.conn.Write(p) }

// CloseWrite sends close_notify.
func (t *Layer) CloseWrite() error { return t.conn.CloseWrite() }

// Close ends a handshake that is under way, and releases the buffers.
func (t *Layer) Close() {
	h := t.shake
	t.phase = closed
	if h != nil && h.entered && !t.bound.places.abandon(h) {
		h.cancel(net.ErrClosed)
	}
	t.consume(len(t.pending()))
	t.plain = false
	t.account()
	t.shared.leave(t)
}
