package relay

import (
	"context"
	"io"
	"testing"

	"example.com/ferry/rpc/call"
)

// unaryConn has a server whose responses have so many bytes.
type unaryConn struct {
	call.Conn
	size int
}

func (c unaryConn) Closing() <-chan struct{} { return nil }
func (c unaryConn) Call(_ context.Context, _ *call.Head, _ []byte, resp *call.Response) error {
	resp.Data = make([]byte, c.size)
	return nil
}

// slowReader is a call whose client takes the response when it is told to.
type slowReader struct {
	request
	received bool
	finished chan int // gets the size of the response
	take     chan struct{}
}

func (r *slowReader) Recv() ([]byte, error) {
	if r.received {
		return nil, io.EOF
	}
	r.received = true
	return []byte("1"), nil
}

func (r *slowReader) Finish(last []byte, s *call.Status, _ call.Metadata) {
	r.status = s
	r.finished <- len(last)
	<-r.take
}

// TestUnaryResponsesAreHeld: MaxHeld bounds the responses of a server without streams, too, while clients read them slowly.
func TestUnaryResponsesAreHeld(t *testing.T) {
	t.Parallel()
	const size = 600 << 10
	u := &Upstream{Unary: true, MaxHeld: 1 << 20, Dial: func(context.Context) (call.Conn, error) { return unaryConn{size: size}, nil }}
	begin := func() (r *slowReader, end func()) {
		r = &slowReader{finished: make(chan int, 1), take: make(chan struct{})}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			u.Serve(t.Context(), r, &call.Head{})
		}()
		return r, func() { close(r.take); <-ended }
	}
	first, endFirst := begin()
	if n := <-first.finished; n != size || first.status != nil {
		t.Fatalf("the first response has %d bytes, %v", n, first.status)
	}
	second, endSecond := begin()
	if n := <-second.finished; n != 0 || second.status == nil || second.status.Code != call.ResourceExhausted {
		t.Errorf("while the first is held, the second has %d bytes, %v, want ResourceExhausted", n, second.status)
	}
	endFirst()
	endSecond()
	third, endThird := begin()
	if n := <-third.finished; n != size || third.status != nil {
		t.Errorf("after the first, the third has %d bytes, %v", n, third.status)
	}
	endThird()
}
