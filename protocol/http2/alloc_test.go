package http2

import (
	"testing"

	"example.com/ferry/internal/bufpool"
)

// sink is a server's Handler that allocates nothing. It responds to a request with the body's length in bytes.
type sink struct{ body []byte }

func (h *sink) Headers(s *Stream, head *Head, end bool) {
	e := s.BeginHeaders()
	e.Status(200)
	e.FieldString("server", "sink")
	e.FieldString("content-type", "application/json")
	e.Field([]byte("x-request-id"), head.Get("x-request-id"))
	e.End(false)
	h.end(s, end)
}

func (h *sink) Data(s *Stream, p []byte, end bool) {
	s.Consumed(len(p))
	h.end(s, end)
}

func (h *sink) end(s *Stream, end bool) {
	if end {
		s.Write(h.body, true)
		s.Release()
	}
}

func (h *sink) Reset(s *Stream, _ StreamError) { s.Release() }
func (h *sink) Writable(*Stream)               {}
func (h *sink) Sent(*Stream)                   {}
func (h *sink) GoAway(uint32, Code)            {}

// ringOutput releases shared buffers at once and is full every other time, so DATA waits in queues.
type ringOutput struct {
	n    int
	full bool
}

func (o *ringOutput) Write(p []byte)                       { o.n += len(p) }
func (o *ringOutput) WriteShared(_ *bufpool.Buf, p []byte) { o.n += len(p) }
func (o *ringOutput) Full() bool                           { return o.full }
func (*ringOutput) Hold(int)                               {}
func (*ringOutput) Crowded() bool                          { return false }

// TestAllocs: a request and its response allocate nothing, on both sides, with bodies that leave at once or wait in the queue.
func TestAllocs(t *testing.T) {
	if raceEnabled || !bufpool.Reuse {
		t.Log("sync.Pool drops at random under the race detector; asserted without it")
		return
	}
	for name, row := range map[string]struct {
		request, response int
		waits             bool
	}{
		"heads":            {0, 0, false},
		"1 KiB":            {1 << 10, 1 << 10, false},
		"64 KiB":           {64 << 10, 64 << 10, false},
		"64 KiB that wait": {0, 64 << 10, true},
	} {
		t.Run("server "+name, func(t *testing.T) {
			out := &ringOutput{}
			c := NewServer(nil, &sink{body: make([]byte, row.response)}, out)
			r := newRequests(row.request)
			window := append(appendFrameHeader(nil, 4, frameWindowUpdate, 0, 0), number(uint32(max(row.response, 1)))...)
			receive := func(p []byte) {
				if n, err := c.Receive(p); err != nil || n != len(p) {
					t.Fatal(n, err)
				}
			}
			receive(r.begin())
			run := func() {
				out.full = row.waits
				receive(r.next())
				receive(window)
				out.full = false
				c.Flush()
				if c.Streams() != 0 {
					t.Fatal("the stream is not complete")
				}
			}
			for range 100 {
				run()
			}
			if n := testing.AllocsPerRun(200, run); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
	t.Run("client", func(t *testing.T) {
		out := &ringOutput{}
		c := NewClient(nil, &sink{}, out)
		response := frame(frameHeaders, flagEndHeaders, 1, fieldBlockOf(":status: 200", "server: a", "content-type: b")...)
		at := len(response)
		response = append(response, frame(frameData, flagEndStream, 1, make([]byte, 1000)...)...)
		h := &quiet{}
		c.handler = h
		run := func() {
			s := c.Open()
			e := s.BeginHeaders()
			e.Method(get1)
			e.Scheme(scheme1)
			e.Authority(authority1)
			e.Path(authority1)
			e.FieldString("x-unknown", "value")
			e.End(true)
			for _, p := range [][]byte{response, response[at:]} {
				p[5], p[6], p[7], p[8] = byte(s.ID()>>24), byte(s.ID()>>16), byte(s.ID()>>8), byte(s.ID())
			}
			if n, err := c.Receive(response); err != nil || n != len(response) || c.Streams() != 0 {
				t.Fatal(n, err, c.Streams())
			}
		}
		if _, err := c.Receive(append(frame(frameSettings, 0, 0), frame(frameSettings, flagAck, 0)...)); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			run()
		}
		if n := testing.AllocsPerRun(200, run); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

var get1, scheme1, authority1 = []byte("GET"), []byte("http"), []byte("/example")

// quiet is a client's Handler that allocates nothing.
type quiet struct{ sink }

func (*quiet) Headers(*Stream, *Head, bool) {}

func (*quiet) Data(s *Stream, p []byte, end bool) {
	s.Consumed(len(p))
	if end {
		s.Release()
	}
}
