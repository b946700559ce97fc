package h1conn

import (
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/http1"
)

// Field is a header field. The name of a received one is in lower case.
type Field struct{ Name, Value string }

// Get returns the value of the first field with a name in lower case, or "".
func Get(fields []Field, name string) string {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i].Value
		}
	}
	return ""
}

const (
	smallBuffer = 4 << 10  // bytes of the buffer of an idle connection
	bodyStep    = 64 << 10 // bytes for which a body gets memory before they have arrived
)

// source reads messages from a connection.
type source struct {
	nc   net.Conn
	buf  []byte
	r, w int // buf[r:w] has arrived and is not consumed
	head http1.Head
	last lastHead

	limit  time.Duration // bounds what is read from the next read on; 0 leaves the deadline. Most messages arrive in one piece, and need none
	readBy time.Time     // the deadline that idle connections have; zero if another one is set
}

// read reads from the connection. The limit begins.
func (s *source) read(p []byte) (int, error) {
	if s.limit > 0 {
		_ = s.nc.SetReadDeadline(time.Now().Add(s.limit))
		s.limit, s.readBy = 0, time.Time{}
	}
	return s.nc.Read(p)
}

// fill reads once. It keeps what is not consumed.
func (s *source) fill() error {
	switch {
	case s.r == s.w:
		s.r, s.w = 0, 0
	case s.w == len(s.buf) && s.r > 0:
		s.w = copy(s.buf, s.buf[s.r:s.w])
		s.r = 0
	case s.w == len(s.buf):
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := s.read(s.buf[s.w:])
	if s.w += n; n > 0 {
		return nil
	}
	return err
}

// lastHead is the head before, which most clients and servers repeat to the byte. Then it is not parsed again.
type lastHead struct {
	raw    string // as it came; empty if there is none, or a long one
	text   string // with names in lower case
	fields []Field
}

// maxLastHead is the length up to which a connection keeps a head, in bytes.
const maxLastHead = 1 << 10

// readHead reads until parse has a whole head, and returns its fields and its bytes with names in lower case. They do not change later. s.head has what
// parse has found.
func (s *source) readHead(parse func(data []byte) (int, error)) (text string, fields []Field, err error) {
	if s.r == s.w {
		if err := s.fill(); err != nil {
			return "", nil, err
		}
	}
	if raw := s.last.raw; raw != "" && len(raw) <= s.w-s.r && string(s.buf[s.r:s.r+len(raw)]) == raw {
		s.r += len(raw)
		return s.last.text, s.last.fields, nil
	}
	s.last = lastHead{}
	s.head.Reset()
	for {
		n, err := parse(s.buf[s.r:s.w])
		if err != nil {
			return "", nil, err
		}
		if n == 0 {
			if err := s.fill(); err != nil {
				if errors.Is(err, io.EOF) && s.r < s.w {
					err = io.ErrUnexpectedEOF
				}
				return "", nil, err
			}
			continue
		}
		data := s.buf[s.r : s.r+n]
		if n <= maxLastHead {
			s.last.raw = string(data)
		}
		for i := range s.head.Fields {
			lower(s.head.Fields[i].Name.Of(data))
		}
		text = string(data)
		fields = make([]Field, len(s.head.Fields))
		for i := range s.head.Fields {
			f := &s.head.Fields[i]
			fields[i] = Field{text[f.Name.Start:f.Name.End], text[f.Value.Start:f.Value.End]}
		}
		if s.r += n; s.last.raw != "" {
			s.last.text, s.last.fields = text, fields
		}
		return text, fields, nil
	}
}

func lower(name []byte) {
	for i, c := range name {
		if c-'A' < 26 {
			name[i] = c | 0x20
		}
	}
}

// ErrTooLarge is the error of a body that is longer than allowed.
var ErrTooLarge = errors.New("http1: the body is longer than allowed")

// readBody reads the body behind the head, up to most bytes, into memory of the pool; nil if it is empty. m may be nil.
func (s *source) readBody(b *http1.Body, most int, m Memory) (body *bufpool.Buf, err error) {
	defer func() {
		if err != nil && body != nil {
			body.Release()
			body = nil
		}
	}()
	for !b.Done() {
		have := 0
		if body != nil {
			have = len(body.B)
		}
		if int64(have)+b.Known() > int64(most) {
			return body, ErrTooLarge
		}
		n, part, err := b.Next(s.buf[s.r:s.w])
		if err != nil {
			return body, err
		}
		if content := part.Content.Of(s.buf[s.r:s.w]); len(content) > 0 {
			if have+len(content) > most {
				return body, ErrTooLarge
			}
			if body, err = withRoom(body, len(content)+int(min(b.Known(), bodyStep)), m); err != nil {
				return body, err
			}
			body.B = append(body.B, content...)
		}
		if s.r += n; n > 0 {
			continue
		}
		if known := b.Known(); known > 0 && s.r == s.w { // without a copy
			if body, err = withRoom(body, int(min(known, bodyStep)), m); err != nil {
				return body, err
			}
			n, err := s.read(body.B[have:min(cap(body.B), have+int(known))])
			body.B = body.B[:have+n]
			b.Advance(int64(n))
			if n == 0 && err != nil {
				return body, unexpected(err)
			}
			continue
		}
		if err := s.fill(); err != nil {
			if errors.Is(err, io.EOF) && b.End() == nil {
				return body, nil
			}
			return body, unexpected(err)
		}
	}
	return body, nil
}

// withRoom returns body, or a copy of it, with room for n more bytes.
func withRoom(body *bufpool.Buf, n int, m Memory) (*bufpool.Buf, error) {
	size, held := n, 0
	if body != nil {
		if cap(body.B)-len(body.B) >= n {
			return body, nil
		}
		held = cap(body.B)
		size = max(2*held, len(body.B)+n)
	}
	if m != nil {
		if err := m.Take(size - held); err != nil {
			return body, err
		}
	}
	larger := bufpool.Get(size)
	if body != nil {
		larger.B = append(larger.B, body.B...)
		body.Release()
	}
	return larger, nil
}

// unexpected makes the end of a connection an error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// appendFields appends fields and the empty line behind them. A name or value that would end its line is left out.
func appendFields(dst []byte, fields []Field) []byte {
	for _, f := range fields {
		if strings.IndexByte(f.Name, ':') >= 0 || endsLine(f.Name) || endsLine(f.Value) {
			continue
		}
		dst = append(append(append(append(dst, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func endsLine(text string) bool {
	for i := range len(text) {
		if text[i] == '\r' || text[i] == '\n' {
			return true
		}
	}
	return false
}
