package loop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
)

// A record of recordLayer is a kind, the length of the payload (2 bytes), and the payload. All payload bytes are combined with
// 0x5a by XOR.
const (
	helloRecord   = 1 // first record in each direction: the name of a protocol
	dataRecord    = 2
	endRecord     = 3 // the sender ends its side
	alertRecord   = 4
	paddingRecord = 5 // the receiver ignores it
	recordHead    = 3
	maxRecord     = 3000 // bytes of payload
)

func appendRecord(b []byte, kind byte, payload []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	for _, x := range payload {
		b = append(b, x^0x5a)
	}
	return b
}

// appendRecords cuts data into records of random lengths and adds padding records between them. An end record follows.
func appendRecords(b []byte, rng *rand.Rand, data []byte) []byte {
	for len(data) > 0 {
		n := min(len(data), 1+rng.IntN(maxRecord))
		b = appendRecord(b, dataRecord, data[:n])
		if data = data[n:]; rng.IntN(3) == 0 {
			b = appendRecord(b, paddingRecord, make([]byte, rng.IntN(100)))
		}
	}
	return appendRecord(b, endRecord, nil)
}

// readRecord reads one record of a stream.
func readRecord(r io.Reader) (kind byte, payload []byte, err error) {
	var head [recordHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	payload = make([]byte, binary.BigEndian.Uint16(head[1:]))
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	for i := range payload {
		payload[i] ^= 0x5a
	}
	return head[0], payload, nil
}

// readRecords returns the data before the end record. The end record must be the last record of the stream.
func readRecords(r io.Reader) (data []byte, err error) {
	for {
		kind, payload, err := readRecord(r)
		switch {
		case err != nil:
			return data, err
		case kind == dataRecord:
			data = append(data, payload...)
		case kind == endRecord:
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				return data, fmt.Errorf("after the end: %w", err)
			}
			return data, nil
		case kind != paddingRecord:
			return data, fmt.Errorf("record of kind %d: %q", kind, payload)
		}
	}
}

var errRefused = errors.New("the peer's protocol is refused")

// recordLayer is a Layer with the features of TLS: a handshake that negotiates a protocol, records that straddle reads,
// records without data, an end record, and alerts.
type recordLayer struct {
	offer    string                 // protocol that a client offers; empty on the server's side
	accepts  func(name string) bool // whether the server accepts a protocol; nil accepts all
	protocol string                 // negotiated protocol
	closed   *atomic.Int64          // counts Close; may be nil
	socket   *Socket
	in       []byte // bytes read from the socket that are not yet decoded
	plain    []byte // decoded bytes that Read has not returned
	ended    bool
	writes   int
}

func (r *recordLayer) Start(s *Socket) {
	r.socket = s
	if r.offer != "" {
		s.Write(appendRecord(nil, helloRecord, []byte(r.offer)))
	}
}

// next returns the next record, or ErrAgain.
func (r *recordLayer) next() (kind byte, payload []byte, err error) {
	for {
		if len(r.in) >= recordHead {
			if n := recordHead + int(binary.BigEndian.Uint16(r.in[1:])); len(r.in) >= n {
				kind, payload, err := readRecord(bytes.NewReader(r.in[:n]))
				r.in = r.in[n:]
				return kind, payload, err
			}
		}
		var buf [701]byte
		n, err := r.socket.Read(buf[:])
		if err != nil {
			return 0, nil, err
		}
		r.in = append(r.in, buf[:n]...)
	}
}

func (r *recordLayer) Handshake() error {
	kind, payload, err := r.next()
	if err != nil {
		return err
	}
	if kind == alertRecord {
		return fmt.Errorf("alert: %s", payload)
	}
	if kind != helloRecord || r.accepts != nil && !r.accepts(string(payload)) {
		r.socket.Write(appendRecord(nil, alertRecord, []byte("refused")))
		return errRefused
	}
	r.protocol = string(payload)
	if r.offer == "" {
		r.socket.Write(appendRecord(nil, helloRecord, payload))
	}
	return nil
}

func (r *recordLayer) Read(p []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		kind, payload, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		case kind == endRecord:
			r.ended = true
		case kind == dataRecord:
			r.plain = payload
		case kind != paddingRecord:
			return 0, fmt.Errorf("record of kind %d", kind)
		}
	}
	n := copy(p, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

func (r *recordLayer) Write(p []byte) (int, error) {
	n := min(len(p), maxRecord)
	b := appendRecord(nil, dataRecord, p[:n])
	if r.writes++; r.writes%3 == 0 {
		b = appendRecord(b, paddingRecord, make([]byte, 10))
	}
	r.socket.Write(b)
	return n, nil
}

func (r *recordLayer) CloseWrite() error {
	r.socket.Write(appendRecord(nil, endRecord, nil))
	return nil
}

func (r *recordLayer) Close() {
	if r.closed != nil {
		r.closed.Add(1)
	}
}

// slowLayer is a recordLayer that returns ErrAgain from every second call. It works on a goroutine, which then calls Post and
// Wake.
type slowLayer struct {
	recordLayer
	busy  bool
	calls int
}

// again reports whether this call returns ErrAgain.
func (s *slowLayer) again() bool {
	if s.busy {
		return true
	}
	if s.calls++; s.calls%2 == 0 {
		return false
	}
	s.busy = true
	socket := s.socket
	go func() {
		_ = socket.conn.Loop().Post(func() {
			s.busy = false
			socket.Wake()
		})
	}()
	return true
}

func (s *slowLayer) Handshake() error {
	if s.again() {
		return ErrAgain
	}
	return s.recordLayer.Handshake()
}

func (s *slowLayer) Read(p []byte) (int, error) {
	if s.again() {
		return 0, ErrAgain
	}
	return s.recordLayer.Read(p)
}

func (s *slowLayer) Write(p []byte) (int, error) {
	if s.again() {
		return 0, ErrAgain
	}
	return s.recordLayer.Write(p)
}

func (s *slowLayer) CloseWrite() error {
	if s.again() {
		return ErrAgain
	}
	return s.recordLayer.CloseWrite()
}

// identityLayer passes all bytes on unchanged.
type identityLayer struct{ socket *Socket }

func (i *identityLayer) Start(s *Socket)             { i.socket = s }
func (i *identityLayer) Handshake() error            { return nil }
func (i *identityLayer) Read(p []byte) (int, error)  { return i.socket.Read(p) }
func (i *identityLayer) Write(p []byte) (int, error) { i.socket.Write(p); return len(p), nil }
func (i *identityLayer) CloseWrite() error           { return nil }
func (i *identityLayer) Close()                      {}
