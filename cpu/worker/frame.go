package worker

import (
	"encoding/binary"
	"fmt"
	"io"

	"example.com/ferry"
)

// version is the protocol's version (docs/worker.md). Both sides send it first.
const version = 1

// magic begins the body of a HELLO. A program that writes other bytes to the socket is therefore not taken for a
// worker.
const magic = "ferry worker"

// kind is the kind of a frame. A frame is a length, a kind and a body. The length is 4 bytes, little endian, and counts
// the kind and the body. Requests carry no number: both sides count them, from 1.
type kind uint8

const (
	hello   kind = 1 // from both sides, first: magic, version (1 byte), largest payload (4 bytes)
	message kind = 2 // from the parent: a request; from the child: a response to the current request
	end     kind = 3 // from the child, when a request has ended: its number (8 bytes), status (1 byte), text
	cancel  kind = 4 // from the parent: requests up to this number (8 bytes) are cancelled
)

// status is the result of a request.
type status uint8

const (
	done     status = 0
	failed   status = 1 // the text is the handler's error
	panicked status = 2 // the text is the panic's value and stack
)

// Sizes in bytes.
const (
	prefixSize  = 4                 // length of a frame, before its kind
	messageHead = 1 + 4 + 4 + 8 + 2 // type, source, to, time, length of the tag
	maxTag      = 1<<16 - 1
	maxText     = 8 << 10 // text of an END; a longer text is cut
	maxHello    = 64
	minBuffer   = 16 << 10
	keepBuffer  = 5 << 20 // a larger buffer is not kept for reuse
)

// maxFrame returns the size of the largest frame, without its prefix, for payloads of up to maxMessage bytes.
func maxFrame(maxMessage int) int { return 1 + messageHead + maxTag + max(maxMessage, 9+maxText) }

// beginFrame appends the beginning of a frame. closeFrame later sets the length of the frame that begins at start.
func beginFrame(b []byte, k kind) []byte { return append(b, 0, 0, 0, 0, byte(k)) }

func closeFrame(b []byte, start int) []byte {
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-prefixSize))
	return b
}

func helloFrame(maxMessage int) []byte {
	b := append(beginFrame(nil, hello), magic...)
	b = append(b, version)
	return closeFrame(binary.LittleEndian.AppendUint32(b, uint32(maxMessage)), 0)
}

// parseHello returns the largest payload that the peer accepts, in bytes.
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

// appendMessage appends m as a frame. The caller has checked its size.
func appendMessage(b []byte, m *ferry.Message) []byte {
	start := len(b)
	b = append(beginFrame(b, message), byte(m.Type))
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Source))
	b = binary.LittleEndian.AppendUint32(b, uint32(m.To))
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Time))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(m.Tag)))
	b = append(b, m.Tag...)
	return closeFrame(append(b, m.Payload...), start)
}

// parseMessage returns a message whose payload is a view of body. If the tag equals last, the message uses the string
// last. So a run of messages with one tag allocates the tag once.
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
	b = binary.LittleEndian.AppendUint64(beginFrame(b, end), number)
	b = append(b, byte(s))
	return closeFrame(append(b, text[:min(len(text), maxText)]...), start)
}

// parseEnd returns the number of the request that has ended, and its result: nil, or a *HandlerError.
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
	return closeFrame(binary.LittleEndian.AppendUint64(beginFrame(nil, cancel), number), 0)
}

func parseCancel(body []byte) (uint64, error) {
	if len(body) != 8 {
		return 0, &ProtocolError{Reason: fmt.Sprintf("a cancel of %d bytes, want 8", len(body))}
	}
	return binary.LittleEndian.Uint64(body), nil
}

// frameReader reads frames from a stream.
type frameReader struct {
	r          io.Reader
	max        int // largest accepted frame in bytes, without its prefix
	buf        []byte
	start, end int // buf[start:end] holds bytes read from the stream and not yet returned
}

// next returns the kind and body of the next frame. The body is valid until the next call. The error is io.EOF if the
// stream ends between frames, and io.ErrUnexpectedEOF if it ends within a frame. It is a *ProtocolError if a length is
// 0 or too large.
func (r *frameReader) next() (kind, []byte, error) {
	if r.start == r.end && cap(r.buf) > keepBuffer {
		r.buf = nil
	}
	if err := r.fill(prefixSize); err != nil {
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(r.buf[r.start:])
	if size == 0 || uint64(size) > uint64(r.max) {
		return 0, nil, &ProtocolError{Reason: fmt.Sprintf("a frame of %d bytes, want 1 to %d", size, r.max)}
	}
	if err := r.fill(prefixSize + int(size)); err != nil {
		return 0, nil, err
	}
	frame := r.buf[r.start+prefixSize : r.start+prefixSize+int(size)]
	r.start += prefixSize + int(size)
	return kind(frame[0]), frame[1:], nil
}

// fill reads until buf holds n bytes from start on. The buffer grows with the bytes that arrive, not with the announced
// length.
func (r *frameReader) fill(n int) error {
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
			if len(r.buf) < size/2 { // this comparison does not overflow, as 2*len(r.buf) could
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
