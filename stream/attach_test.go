package stream_test

import (
	"testing"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport/memory"
)

// slowCalls offers a service as soon as it is connected, and then takes its time.
type slowCalls struct {
	resume  chan struct{} // closed when Connected may return
	frames  chan native.Kind
	results chan native.ResultFrame
}

func (c *slowCalls) Connected(p *peer.Conn, _ native.WelcomeFrame) peer.CallSession {
	p.Tell(func(b []byte) []byte { return native.AppendOffer(b, native.OfferFrame{ID: 1, Service: "a.A"}) })
	<-c.resume
	return c
}

func (c *slowCalls) NewReceiver() peer.CallReceiver { return c }
func (c *slowCalls) Result(v native.ResultFrame)    { c.results <- v }
func (c *slowCalls) Handle(f native.Frame) error    { c.frames <- f.Kind(); return nil }
func (*slowCalls) Drain()                           {}
func (*slowCalls) Closing(error)                    {}
func (*slowCalls) Ended(error)                      {}

// TestCallDuringServeCalls: the node responds to an offer, and sends a call, before ServeCalls has returned. Neither is lost: nothing
// else would end the call.
func TestCallDuringServeCalls(t *testing.T) {
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	calls := &slowCalls{resume: make(chan struct{}), frames: make(chan native.Kind, 10), results: make(chan native.ResultFrame, 10)}
	served := make(chan error, 1)
	go func() {
		c, err := stream.Dial(t.Context(), network, "node", quiet(nil))
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			_, err = c.ServeCalls(calls)
		}
		served <- err
	}()
	n := welcomeNext(t, l, 1)
	n.expect(native.Offer)
	b := native.AppendResult(nil, native.ResultFrame{Kind: native.Offer, Ref: 1})
	b = native.AppendMethod(b, native.MethodFrame{Number: 1, Method: "a.A.B", Content: "application/json"})
	b = native.AppendCall(b, native.CallFrame{Flags: native.FlagEnd, Call: 2, Method: 1})
	n.write(native.AppendPing(b, false, 7))
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		n.expect(native.Ping) // behind the frames before it
	}()
	select {
	case <-passed: // they were handled, or lost
	case <-time.After(50 * time.Millisecond): // they wait for Connected
	}
	close(calls.resume)
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	<-passed
	select {
	case v := <-calls.results:
		if v.Ref != 1 {
			t.Errorf("got %+v", v)
		}
	default:
		t.Error("the RESULT of the offer is lost")
	}
	for _, want := range []native.Kind{native.Method, native.Call} {
		select {
		case got := <-calls.frames:
			if got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		default:
			t.Errorf("%v is lost", want)
		}
	}
	_ = n.conn.Close()
}
