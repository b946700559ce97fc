package relay

import (
	"context"
	"io"
	"strconv"
	"testing"

	"example.com/ferry/rpc/call"
)

// request is a call without messages.
type request struct {
	head   call.Head
	peer   call.Peer
	status *call.Status
}

func (r *request) Head() *call.Head                                 { return &r.head }
func (r *request) Peer() *call.Peer                                 { return &r.peer }
func (r *request) Recv() ([]byte, error)                            { return nil, io.EOF }
func (r *request) SetHeader(call.Metadata) error                    { return nil }
func (r *request) Send([]byte) error                                { return nil }
func (r *request) Finish(_ []byte, s *call.Status, _ call.Metadata) { r.status = s }

// TestGateKeepsNoRefused: a client that tries many tokens over one connection leaves nothing behind.
func TestGateKeepsNoRefused(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	defer close(ended)
	g := &Gate{Dial: func(_ context.Context, token string, _ *call.Peer) (call.Conn, error) {
		return nil, call.Errorf(call.Unauthenticated, "no identity has the token %s", token)
	}}
	for i := range 100 {
		r := &request{peer: call.Peer{Ended: ended}}
		r.head.Metadata.Add("authorization", "Bearer "+strconv.Itoa(i))
		g.Serve(t.Context(), nil, r)
		if r.status == nil || r.status.Code != call.Unauthenticated {
			t.Fatalf("a call with an unknown token ends with %v", r.status)
		}
	}
	if n := len(g.sessions[ended]); n != 0 {
		t.Errorf("%d sessions are kept of tokens that were refused", n)
	}
}
