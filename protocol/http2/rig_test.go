package http2

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// recorder is a Handler that notes its calls as lines.
type recorder struct {
	lines   []string
	streams map[uint32]*Stream
	body    map[uint32]int
	// keep leaves all streams to the test. Otherwise Reset and the peer's end release them.
	keep bool
	// each is called within Headers, Data and Reset, after the line is noted.
	each func(s *Stream, end bool)
}

func newRecorder() *recorder {
	return &recorder{streams: make(map[uint32]*Stream), body: make(map[uint32]int)}
}

func (r *recorder) note(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) Headers(s *Stream, h *Head, end bool) {
	r.streams[s.ID()] = s
	switch {
	case h.Trailers:
		r.note("%d trailers of %d, end %v", s.ID(), h.Len(), end)
	case h.Status != 0:
		r.note("%d status %d, end %v", s.ID(), h.Status, end)
	default:
		r.note("%d %s %s, end %v", s.ID(), h.Method, h.Path, end)
	}
	r.after(s, end)
}

func (r *recorder) Data(s *Stream, p []byte, end bool) {
	r.body[s.ID()] += len(p)
	if end {
		r.note("%d body of %d", s.ID(), r.body[s.ID()])
	}
	s.Consumed(len(p))
	r.after(s, end)
}

func (r *recorder) Reset(s *Stream, why StreamError) {
	r.note("%d reset %s, remote %v, refused %v", s.ID(), why.Code, why.Remote, why.Refused)
	r.after(s, true)
}

func (r *recorder) after(s *Stream, end bool) {
	if r.each != nil {
		r.each(s, end)
	}
	if end && !r.keep {
		s.Release()
	}
}

func (r *recorder) Writable(s *Stream) { r.note("%d writable", s.ID()) }

func (r *recorder) Sent(s *Stream) { r.note("%d sent", s.ID()) }

func (r *recorder) GoAway(last uint32, code Code) { r.note("goaway %d %s", last, code) }

// frame returns the bytes of a frame.
func frame(kind, flags uint8, stream uint32, payload ...byte) []byte {
	return append(appendFrameHeader(nil, len(payload), kind, flags, stream), payload...)
}

// number returns n in four bytes.
func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// setting returns a parameter of SETTINGS.
func setting(id uint16, value uint32) []byte { return appendSetting(nil, id, value) }

// fieldBlockOf encodes lines of the form "name: value" without a table.
func fieldBlockOf(lines ...string) (p []byte) {
	for _, line := range lines {
		at := strings.Index(line[1:], ": ") + 1
		p = appendString(appendString(append(p, withoutIndexing), line[:at]), line[at+2:])
	}
	return p
}

var getLines = []string{":method: GET", ":scheme: http", ":path: /", ":authority: a"}

var postLines = []string{":method: POST", ":scheme: http", ":path: /", ":authority: a"}

// get returns a whole GET request.
func get(stream uint32) []byte {
	return frame(frameHeaders, flagEndHeaders|flagEndStream, stream, fieldBlockOf(getLines...)...)
}

// post returns the head of a POST request, with more fields.
func post(stream uint32, more ...string) []byte {
	return frame(frameHeaders, flagEndHeaders, stream, fieldBlockOf(slices.Concat(postLines, more)...)...)
}

// clientStart is what a client sends first.
func clientStart(settings ...[]byte) []byte {
	return append([]byte(preface), frame(frameSettings, 0, 0, slices.Concat(settings...)...)...)
}

// sentLines describes frames.
func sentLines(p []byte) (lines []string) {
	scan := frameScanner{each: func(h frameHeader, p []byte) {
		switch h.kind {
		case frameData:
			lines = append(lines, fmt.Sprintf("%d DATA %d, end %v", h.stream, len(p), h.has(flagEndStream)))
		case frameHeaders:
			lines = append(lines, fmt.Sprintf("%d HEADERS end %v", h.stream, h.has(flagEndStream)))
		case frameContinuation:
			lines = append(lines, fmt.Sprintf("%d CONTINUATION", h.stream))
		case frameReset:
			lines = append(lines, fmt.Sprintf("%d RST %s", h.stream, Code(binary.BigEndian.Uint32(p))))
		case frameSettings:
			if h.has(flagAck) {
				lines = append(lines, "SETTINGS ack")
			} else {
				lines = append(lines, "SETTINGS")
			}
		case framePing:
			lines = append(lines, fmt.Sprintf("PING %q, ack %v", p, h.has(flagAck)))
		case frameGoAway:
			lines = append(lines, fmt.Sprintf("GOAWAY %d %s", binary.BigEndian.Uint32(p), Code(binary.BigEndian.Uint32(p[4:]))))
		case frameWindowUpdate:
			lines = append(lines, fmt.Sprintf("%d WINDOW_UPDATE %d", h.stream, binary.BigEndian.Uint32(p)))
		}
	}}
	scan.write(p)
	return lines
}

// rig is a Conn with a recorder.
type rig struct {
	t    *testing.T
	conn *Conn
	rec  *recorder
	out  *memoryOutput
}

func newServerRig(t *testing.T, cfg *Config) *rig {
	r := &rig{t: t, rec: newRecorder(), out: &memoryOutput{}}
	r.conn = NewServer(cfg, r.rec, r.out)
	r.receive(clientStart(), frame(frameSettings, flagAck, 0))
	r.sent()
	return r
}

// newClientRig returns a client that has received the server's SETTINGS.
func newClientRig(t *testing.T, cfg *Config, settings ...[]byte) *rig {
	r := &rig{t: t, rec: newRecorder(), out: &memoryOutput{}}
	r.conn = NewClient(cfg, r.rec, r.out)
	r.receive(frame(frameSettings, 0, 0, slices.Concat(settings...)...), frame(frameSettings, flagAck, 0))
	r.out.take(len(preface))
	r.sent()
	return r
}

// receive passes frames to the Conn, which must consume them without an error.
func (r *rig) receive(frames ...[]byte) {
	r.t.Helper()
	p := slices.Concat(frames...)
	if n, err := r.conn.Receive(p); err != nil || n != len(p) {
		r.t.Fatalf("received %d of %d bytes: %v", n, len(p), err)
	}
}

// sent returns the frames written since the last call.
func (r *rig) sent() []string { return sentLines(r.out.take(r.out.size)) }

// open begins a request of a client.
func (r *rig) open(method string, end bool) *Stream {
	r.t.Helper()
	s := r.conn.Open()
	if s == nil {
		r.t.Fatal("the connection opens no stream")
	}
	e := s.BeginHeaders()
	e.Method([]byte(method))
	e.Scheme([]byte("http"))
	e.Authority([]byte("a"))
	e.Path([]byte("/"))
	e.End(end)
	return s
}

func (r *rig) wantSent(want ...string) {
	r.t.Helper()
	if got := r.sent(); !slices.Equal(got, want) {
		r.t.Errorf("sent %q, want %q", got, want)
	}
}

func (r *rig) wantCalls(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.rec.lines, want) {
		r.t.Errorf("the Handler got %q, want %q", r.rec.lines, want)
	}
	r.rec.lines = nil
}
