package http2

import "testing"

// halfServer responds to a request with 10 bytes. The response is not complete.
type halfServer struct {
	echoServer
	stream *Stream
}

func (h *halfServer) Headers(s *Stream, _ *Head, _ bool) {
	h.stream = s
	e := s.BeginHeaders()
	e.Status(200)
	e.End(false)
	s.Write(make([]byte, 10), false)
}

// The end of a body needs no window, so it leaves at once, also after SETTINGS have made the window negative. RFC 9113, section
// 6.9.2.
func TestEndWithANegativeWindow(t *testing.T) {
	h, out := &halfServer{}, &socketOutput{}
	c := NewServer(nil, h, out)
	request := []byte{0x82, 0x86, 0x84, 0x41, 1, 'a'} // GET http / of a
	in := append([]byte(preface), 0, 0, 6, frameSettings, 0, 0, 0, 0, 0, 0, settingInitialWindowSize, 0, 0, 0, 10)
	in = append(appendFrameHeader(in, len(request), frameHeaders, flagEndStream|flagEndHeaders, 1), request...)
	in = append(in, 0, 0, 6, frameSettings, 0, 0, 0, 0, 0, 0, settingInitialWindowSize, 0, 0, 0, 0)
	if _, err := c.Receive(in); err != nil {
		t.Fatal(err)
	}
	h.stream.Write(nil, true)
	if !h.stream.Ended() || h.stream.Queued() != 0 {
		t.Errorf("ended %v, %d bytes queued; want the end to be sent", h.stream.Ended(), h.stream.Queued())
	}
}
