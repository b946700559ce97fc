package worker

import (
	"encoding/binary"
	"fmt"
	"io"

	"example.com/ferry"
)

// version is the protocol's. Both sides say it first; it changes when a frame does.
const version = 1

// magic opens the body of a hello, so that a program that merely writes to the socket is not taken for a worker.
const magic = "ferry worker"

// kind says what a frame is for. A frame is a length (4 bytes, little endian, of what follows it), a kind and a body.
// Requests have no number of their own: both sides count them, from 1.
type kind uint8

const (
	hello   kind = 1 // both, first: magic, version (1), the largest payload (4)
	message kind = 2 // parent: a request; child: an answer to the request that is handled
	end     kind = 3 // child: the request is handled: its number (8), status (1), text
	cancel  kind = 4 // parent: requests up to this number (8) are not wanted any more
)

// status says how a request ended.
type status uint8

const (
	done     status = 0
	failed   status = 1 // text is the handler's error
	panicked status = 2 // text is the value and the stack
)

// Sizes in bytes.
const (
	prefix      = 4                 // the length in front of a frame
	messageHead = 1 + 4 + 4 + 8 + 2 // type, source, to, time, length of the tag
	maxTag      = 1<<16 - 1
	maxText     = 8 << 10 // of an end: longer ones are cut
	maxHello    = 64
	minBuffer   = 16 << 10
	keepBuffer  = 5 << 20 // buffers that one large message has grown above this are let go
)

// maxFrame is the largest frame for a payload of so many bytes, without prefix.
func maxFrame(maxMessage int) int { return 1 + messageHead + maxTag + max(maxMessage, 9+maxText) }

// open appends the beginning of a frame; closeFrame, given len(b) before it, completes it.
func open(b []byte, k kind) []byte { return append(b, 0, 0, 0, 0, byte(k)) }

func closeFrame(b []byte, start int) []byte {
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-prefix))
	return b
}

func helloFrame(maxMessage int) []byte {
	b := append(open(nil, hello), magic...)
	b = append(b, version)
	return closeFrame(binary.LittleEndian.AppendUint32(b, uint32(maxMessage)), 0)
}

// parseHello returns the largest payload that the peer takes, in bytes.
func parseHello(body []byte) (int, error) {
	if len(body) <= len(magic) || string(body[:len(magic)]) != magic {
		return 0, &ProtocolError{Reason: fmt.Sprintf("a hello of %d bytes does not begin with %q", len(body), magic)}
	}
	body = body[len(magic):]
	if body[0] != version {
		return 0, &ProtocolError{Reason: fmt.Sprintf("the peer speaks version %d, this side %d: build both with one release", body[0], version)}
	}
	if len(body) != 5 {
		return 0, &ProtocolError{Reason: fmt.Sprintf("a hello of version %d has %d bytes after its magic, want 5", version, len(body))}
	}
	size := binary.LittleEndian.Uint32(body[1:])
	if size > maxMaxMessage {
		return 0, &ProtocolError{Reason: fmt.Sprintf("a hello with a largest payload of %d bytes, want at most %d", size, maxMaxMessage)}
	}
	return int(size), nil
}

// appendMessage appends m, whose size was checked.
func appendMessage(b []byte, m *ferry.Message) []byte {
	start := len(b)
	b = append(open(b, message), byte(m.Type))
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Source))
	b = binary.LittleEndian.AppendUint32(b, uint32(m.To))
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Time))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(m.Tag)))
	b = append(b, m.Tag...)
	return closeFrame(append(b, m.Payload...), start)
}

// parseMessage returns a message whose payload is a view of body. The tag is last where it says the same: a run of
// messages with one tag allocates it once.
func parseMessage(body []byte, last string) (ferry.Message, error) {
	if len(body) < messageHead {
		return ferry.Message{}, &ProtocolError{Reason: fmt.Sprintf("a message of %d bytes is shorter than its header of %d", len(body), messageHead)}
	}
	tag := int(binary.LittleEndian.Uint16(body[17:]))
	if tag > len(body)-messageHead {
		return ferry.Message{}, &ProtocolError{Reason: fmt.Sprintf("a tag of %d bytes exceeds the %d bytes left of its message", tag, len(body)-messageHead)}
	}
	m := ferry.Message{
		Type:   ferry.Type(body[0]),
		Source: ferry.SourceID(binary.LittleEndian.Uint32(body[1:])),
		To:     ferry.SourceID(binary.LittleEndian.Uint32(body[5:])),
		Time:   int64(binary.LittleEndian.Uint64(body[9:])),
		Tag:    last,
	}
	if name := body[messageHead : messageHead+tag]; string(name) != last {
		m.Tag = string(name)
	}
	m.Payload = body[messageHead+tag:]
	return m, nil
}

func appendEnd(b []byte, number uint64, s status, text string) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(open(b, end), number)
	b = append(b, byte(s))
	return closeFrame(append(b, text[:min(len(text), maxText)]...), start)
}

// parseEnd returns which request has ended and how: nil, or a *HandlerError.
func parseEnd(body []byte) (number uint64, handled, malformed error) {
	if len(body) < 9 {
		return 0, nil, &ProtocolError{Reason: fmt.Sprintf("an end of %d bytes, want 9 or more", len(body))}
	}
	number, body = binary.LittleEndian.Uint64(body), body[8:]
	switch s := status(body[0]); s {
	case done:
		return number, nil, nil
	case failed, panicked:
		return number, &HandlerError{Text: string(body[1:]), Panic: s == panicked}, nil
	default:
		return 0, nil, &ProtocolError{Reason: fmt.Sprintf("an end with status %d, want 0 to %d", s, panicked)}
	}
}

func cancelFrame(number uint64) []byte {
	return closeFrame(binary.LittleEndian.AppendUint64(open(nil, cancel), number), 0)
}

func parseCancel(body []byte) (uint64, error) {
	if len(body) != 8 {
		return 0, &ProtocolError{Reason: fmt.Sprintf("a cancel of %d bytes, want 8", len(body))}
	}
	return binary.LittleEndian.Uint64(body), nil
}

// reader cuts frames out of a stream of bytes.
type reader struct {
	r          io.Reader
	max        int // bytes of the largest frame taken, without prefix
	buf        []byte
	start, end int // what was read and not yet taken
}

// next returns the next frame's kind and body, which is valid until next is called again. A stream that ends between
// frames gives io.EOF, within one io.ErrUnexpectedEOF, and a length that is 0 or too large *ProtocolError.
func (r *reader) next() (kind, []byte, error) {
	if r.start == r.end && cap(r.buf) > keepBuffer {
		r.buf = nil
	}
	if err := r.fill(prefix); err != nil {
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(r.buf[r.start:])
	if size == 0 || uint64(size) > uint64(r.max) {
		return 0, nil, &ProtocolError{Reason: fmt.Sprintf("a frame of %d bytes, want 1 to %d", size, r.max)}
	}
	if err := r.fill(prefix + int(size)); err != nil {
		return 0, nil, err
	}
	frame := r.buf[r.start+prefix : r.start+prefix+int(size)]
	r.start += prefix + int(size)
	return kind(frame[0]), frame[1:], nil
}

// fill reads until n bytes lie at start. The buffer grows with what has arrived, not with what a length promises.
func (r *reader) fill(n int) error {
	for r.end-r.start < n {
		switch {
		case r.start == r.end:
			r.start, r.end = 0, 0
		case r.end == len(r.buf):
			r.end = copy(r.buf, r.buf[r.start:r.end])
			r.start = 0
		}
		if r.end == len(r.buf) {
			size := max(n, minBuffer)
			if len(r.buf) < size/2 { // also where 2*len(r.buf) would overflow
				size = max(2*len(r.buf), minBuffer)
			}
			larger := make([]byte, size)
			copy(larger, r.buf[:r.end])
			r.buf = larger
		}
		k, err := r.r.Read(r.buf[r.end:])
		r.end += k
		if err == nil || r.end-r.start >= n {
			continue
		}
		if err == io.EOF && r.end > r.start {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}
