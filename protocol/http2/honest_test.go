package http2

import (
	"fmt"
	"testing"
)

// TestMeasuringPeer exchanges small messages on one stream. As grpc-go does to measure the bandwidth, the peer sends a PING and a
// WINDOW_UPDATE of the connection for each message. That is no abuse, however long the stream lasts.
func TestMeasuringPeer(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	r.receive(post(1))
	s := r.rec.streams[1]
	e := s.BeginHeaders()
	e.Status(200)
	e.End(false)
	message := make([]byte, 50)
	measure := append(frame(framePing, 0, 0, make([]byte, pingSize)...), frame(frameWindowUpdate, 0, 0, number(uint32(len(message)))...)...)
	forStream := frame(frameWindowUpdate, 0, 1, number(uint32(len(message)))...)
	for range 5000 {
		s.Write(message, false)
		r.receive(measure, forStream)
		r.out.take(r.out.size)
	}
}

// TestDribblingPeer makes windows of one byte. The frames that such windows cut do not pay for the WINDOW_UPDATE frames.
func TestDribblingPeer(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	r.receive(frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 0)...), post(1))
	s := r.rec.streams[1]
	e := s.BeginHeaders()
	e.Status(200)
	e.End(false)
	s.Write(make([]byte, 10_000), false)
	n, failure := r.flood(func(int) []byte { return frame(frameWindowUpdate, 0, 1, number(1)...) })
	if failure.Abuse != AbuseWindows || n > 2*DefaultAbuseBudget {
		t.Errorf("after %d frames: %v", n, failure)
	}
}

// TestCancelledResponses cancels more requests than a resetRing remembers. The responses that were on their way do no harm to the
// other streams.
func TestCancelledResponses(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil)
	const requests = 3 * resetsKept
	for range requests {
		s := r.open("GET", true)
		s.Reset(Cancel)
		s.Release()
	}
	other := r.open("GET", true)
	r.sent()
	for i := range requests {
		id := uint32(2*i + 1)
		r.receive(frame(frameHeaders, flagEndHeaders, id, 0x88))
		for range 4 {
			r.receive(frame(frameData, 0, id, make([]byte, 16<<10-1)...))
		}
	}
	r.rec.lines = nil
	r.receive(frame(frameHeaders, flagEndHeaders|flagEndStream, other.ID(), 0x88))
	r.wantCalls(fmt.Sprintf("%d status 200, end true", other.ID()))
}
