package keepalive

import "fmt"

// This file holds the methods of role: what a client does with the frames of a response.

// done counts a complete response.
func (n *clientConn) done(s *stream) {
	n.drop(s)
	n.run.inFlight--
	n.run.count(s.due)
	n.run.another(n)
}

// wantResponse is what a response's header has to be. Interim responses are not sent to these requests.
var wantResponse = map[string]string{":status": "200"}

func (n *clientConn) headers(id uint32, block []byte, end bool) error {
	s := n.streams[id]
	if s == nil {
		return fmt.Errorf("HEADERS on stream %d, which has no request", id)
	}
	if s.status {
		return fmt.Errorf("trailers on stream %d", id)
	}
	if err := n.header.read(block, wantResponse); err != nil {
		return fmt.Errorf("request %d: %w", s.number, err)
	}
	if s.status = true; end {
		return fmt.Errorf("request %d: a response without a body", s.number)
	}
	return nil
}

func (n *clientConn) data(id uint32, p []byte, end bool) error {
	s := n.streams[id]
	if s == nil || !s.status {
		return fmt.Errorf("DATA on stream %d, which has no response", id)
	}
	if err := n.receiveBody(s, p, s.mark[:], end); err != nil {
		return fmt.Errorf("request %d: %w", s.number, err)
	}
	if end {
		n.done(s)
	}
	return nil
}

func (n *clientConn) reset(id, code uint32) error {
	s := n.streams[id]
	if s == nil {
		return nil // RST_STREAM(NO_ERROR) after a complete response is legal
	}
	r := n.run
	if r.failures++; r.failure == nil {
		r.failure = fmt.Errorf("request %d: RST_STREAM with code %d", s.number, code)
	}
	n.drop(s)
	r.inFlight--
	r.another(n)
	return nil
}

func (n *clientConn) bodySent(*stream) {}
