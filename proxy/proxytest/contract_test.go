package proxytest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// world has a plan with an in-memory connector, on one loop.
type world struct {
	*Rig
	plan      *exchange.Plan
	connector *Connector
	loop      *loop.Loop
}

func newWorld(t *testing.T, rule route.Rule) *world {
	t.Helper()
	r := NewRig(t, loop.Config{Loops: 1})
	rule.Name, rule.Cluster = "r", "c"
	cluster := Cluster("c", "127.0.0.1:1", "127.0.0.1:2")
	cluster.Protocol = upstream.HTTP2 // so that it has a budget for streams that are refused
	w := &world{Rig: r, plan: r.Plan(nil, []route.Rule{rule}, cluster), connector: &Connector{TB: t}, loop: r.Group.Loops()[0]}
	w.plan.Connectors = []exchange.Connector{w.connector}
	return w
}

// do runs f on the loop and checks that no attempt is left.
func (w *world) do(f func()) {
	w.TB.Helper()
	OnLoop(w.TB, w.loop, func() bool { f(); return true })
	for _, e := range w.plan.Clusters[0].Snapshot().Endpoints {
		if e.Active != 0 {
			w.TB.Errorf("endpoint %s has %d requests in flight, want none", e.Address, e.Active)
		}
	}
}

var (
	get  = &RequestHead{MethodName: "GET", Host: "a", Target: "/x?y", Length: 0}
	post = &RequestHead{MethodName: "POST", Host: "a", Target: "/x", Length: -1, Fields: Fields{{"X-A", "1"}}}
	none exchange.Timeouts
)

// TestForward: Forward returns what became of a request, and calls neither side.
func TestForward(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name         string
		wait, refuse bool // the connector makes requests wait, or refuses them
		want         exchange.Outcome
		opens        bool
	}{
		{"a connection is open", false, false, exchange.Forwarded, true},
		{"it waits for a connection", true, false, exchange.Forwarded, false},
		{"it may not even wait", false, true, exchange.Refused, false},
	} {
		w := newWorld(t, route.Rule{})
		w.connector.Wait, w.connector.Refuse = row.wait, row.refuse
		w.do(func() {
			d := NewDownstream(t, w.loop)
			d.Head = get
			d.Relay.Begin(w.plan, none)
			up, outcome := d.Relay.Forward(get, true)
			if outcome != row.want || (up != nil) != row.opens || d.Rejected != nil || up != nil && w.connector.Opened[0].Begun {
				t.Errorf("%s: got %v, %v, rejected %v", row.name, up, outcome, d.Rejected)
			}
			if outcome == exchange.Refused {
				d.Relay.Respond()
			}
			if d.Leave(); (d.Rejected != nil) != row.refuse {
				t.Errorf("%s: rejected %v", row.name, d.Rejected)
			}
		})
	}
}

func TestExchangeOfBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, post, false)
		u := w.connector.Opened[0]
		d.Send([]byte("one"))
		u.Interim(103)
		d.Send([]byte("two"))
		d.End(Fields{{"X-T", "t"}})
		u.Respond(&ResponseHead{Code: 201, Length: -1, Fields: Fields{{"X-B", "2"}}})
		u.Data([]byte("three"))
		u.End(Fields{{"X-S", "s"}})
		if u.Body.String() != "onetwo" || u.Trailers.Get("X-T") == nil || u.Fields.Get("x-a") == nil || u.Path != "/x" {
			t.Errorf("the server got %+v", u)
		}
		if d.Status != 201 || d.Body.String() != "three" || d.Trailers.Get("X-S") == nil || len(d.Interims) != 1 || !d.Ended {
			t.Errorf("the client got %d %q %v", d.Status, d.Body.String(), d.Trailers)
		}
	})
}

func TestResponseBeforeTheRequestIsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, post, false)
		u := w.connector.Opened[0]
		u.Respond(&ResponseHead{Code: 200, Length: -1})
		d.Send([]byte("more"))
		u.Data([]byte("echo"))
		d.End(nil)
		u.End(nil)
		if u.Body.String() != "more" || d.Body.String() != "echo" || !d.Ended {
			t.Errorf("the server got %q, the client %q", u.Body.String(), d.Body.String())
		}
	})
}

// A side with a full queue pauses the other side. The other side resumes when the queue has drained.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, post, false)
		u := w.connector.Opened[0]
		u.Full = true
		d.Send([]byte("x"))
		if d.CanSend() {
			t.Error("the client is not paused by a server that does not read")
		}
		u.Drain()
		if !d.CanSend() {
			t.Error("the client stays paused")
		}
		d.End(nil)
		d.Full = true
		u.Respond(&ResponseHead{Code: 200, Length: -1})
		u.Data([]byte("x"))
		if u.CanRespond() {
			t.Error("the server is not paused by a client that does not read")
		}
		d.Drain()
		if !u.CanRespond() {
			t.Error("the server stays paused")
		}
		u.End(nil)
	})
}

func TestWaitForAConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{})
	w.do(func() {
		w.connector.Wait = true
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, post, false)
		u := w.connector.Opened[0]
		if d.CanSend() || u.Begun {
			t.Error("the request goes on without a connection")
		}
		u.Connect()
		d.Send([]byte("x"))
		d.End(nil)
		u.Respond(&ResponseHead{Code: 204})
		u.End(nil)
		if d.Status != 204 || u.Body.String() != "x" {
			t.Errorf("status %d, the server got %q", d.Status, u.Body.String())
		}
		d.Begin(w.plan, none, get, true)
		d.Leave()
		if !w.connector.Opened[1].Canceled {
			t.Error("a client that left still waits")
		}
		w.connector.Refuse = true
		d.Begin(w.plan, none, get, true)
		if d.Rejected == nil || *d.Rejected != exchange.Unavailable {
			t.Errorf("no room to wait: rejected %v, want %v", d.Rejected, exchange.Unavailable)
		}
	})
}

// The result of a failure depends on the bytes sent, the method, the route and the connection.
func TestFailures(t *testing.T) {
	t.Parallel()
	retry := &route.Retry{On: []route.Cause{route.OnReset, route.OnConnectFailure, route.On5xx}, Attempts: 2}
	retryRefused := &route.Retry{On: []route.Cause{route.OnRefusedStream}, Attempts: 3}
	refused := exchange.Failure{Cause: route.OnRefusedStream}
	for _, row := range []struct {
		name     string
		retry    *route.Retry
		reused   bool
		head     *RequestHead
		failure  exchange.Failure
		attempts int
		want     exchange.Rejection // after a last attempt that fails in the same way
	}{
		{"refused", nil, false, get, exchange.Failure{Cause: route.OnConnectFailure}, 1, exchange.BadGateway},
		{"connect timeout", nil, false, get, exchange.Failure{Cause: route.OnConnectFailure, TimedOut: true}, 1, exchange.GatewayTimeout},
		{"retried", retry, false, get, exchange.Failure{Cause: route.OnReset, Sent: true}, 2, exchange.BadGateway},
		{"not idempotent", retry, false, post, exchange.Failure{Cause: route.OnReset, Sent: true}, 1, exchange.BadGateway},
		{"not idempotent, nothing sent", retry, false, post, exchange.Failure{Cause: route.OnConnectFailure}, 2, exchange.BadGateway},
		{"stale", nil, true, get, exchange.Failure{Cause: route.OnReset, Sent: true, Stale: true}, 2, exchange.BadGateway},
		{"refused stream", nil, false, post, refused, 2, exchange.Unavailable},
		{"refused stream, retried", retryRefused, false, post, refused, 3, exchange.Unavailable},
		{"refused stream, other failures retried", retry, false, post, refused, 2, exchange.Unavailable},
		{"server that goes away", nil, false, post, exchange.Failure{Cause: route.OnRefusedStream, Stale: true}, 2, exchange.Unavailable},
		{"stale, not idempotent", nil, true, post, exchange.Failure{Cause: route.OnReset, Sent: true, Stale: true}, 1, exchange.BadGateway},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, route.Rule{Forward: route.Forward{Retry: row.retry}})
			w.do(func() {
				w.connector.ReusedNext, w.connector.Resend = row.reused, row.failure.Cause == route.OnRefusedStream
				d := NewDownstream(t, w.loop)
				d.Begin(w.plan, none, row.head, row.head == get)
				if row.head == post {
					d.Send([]byte("body"))
					d.End(nil)
				}
				for n := 0; !d.Ended; n++ {
					u := w.connector.Opened[n]
					if row.head == post && u.Body.String() != "body" {
						t.Errorf("attempt %d: the server got %q", n+1, u.Body.String())
					}
					f := row.failure
					f.Stale = f.Stale && (u.Reused() || f.Cause == route.OnRefusedStream)
					u.Fail(f)
				}
				if got := len(w.connector.Opened); got != row.attempts || d.Rejected == nil || *d.Rejected != row.want {
					t.Errorf("%d attempts, rejected %v; want %d and %v", got, d.Rejected, row.attempts, row.want)
				}
			})
		})
	}
}

// If this machine has no descriptors left for a connection, the failure does not count against the endpoint.
func TestLocalFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, get, true)
		w.connector.Opened[0].Fail(exchange.Failure{Cause: route.OnConnectFailure, Err: os.NewSyscallError("socket", syscall.EMFILE)})
		var local, failed int64
		for _, e := range w.plan.Clusters[0].Snapshot().Endpoints {
			local += e.Outcomes[upstream.LocalFailure]
			failed += e.Outcomes[upstream.ConnectFailure]
		}
		if local != 1 || failed != 0 || d.Rejected == nil {
			t.Errorf("%d local failures and %d of connecting, want one and none", local, failed)
		}
	})
}

func TestRetryOfAStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.On5xx}}}})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, get, true)
		if w.connector.Opened[0].Respond(&ResponseHead{Code: 503}) {
			t.Error("503 goes to the client")
		}
		u := w.connector.Opened[1]
		u.Respond(&ResponseHead{Code: 200})
		u.End(nil)
		if d.Status != 200 || !w.connector.Opened[0].Canceled {
			t.Errorf("status %d", d.Status)
		}
	})
}

// A failure within a response resets the client, so that the client does not treat the response as complete.
func TestFailureWithinAResponse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnReset}}}})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, get, true)
		u := w.connector.Opened[0]
		u.Respond(&ResponseHead{Code: 200, Length: 10})
		u.Data([]byte("half"))
		u.Fail(exchange.Failure{Cause: route.OnReset, Sent: true})
		if !d.WasReset || len(w.connector.Opened) != 1 {
			t.Errorf("reset %v after %d attempts", d.WasReset, len(w.connector.Opened))
		}
	})
}

// The end of a response decides about its attempt: a server that breaks off fails, also after a head with status 200. A client that
// leaves within a response does not change that the server has responded.
func TestOutcomeOfAResponse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		end    func(d *Downstream, u *Upstream)
		want   upstream.Outcome
	}{
		{"complete", 200, func(_ *Downstream, u *Upstream) { u.End(nil) }, upstream.Success},
		{"status 503", 503, func(_ *Downstream, u *Upstream) { u.End(nil) }, upstream.Failure},
		{"reset", 200, func(_ *Downstream, u *Upstream) { u.Fail(exchange.Failure{Cause: route.OnReset, Sent: true}) }, upstream.Reset},
		{"malformed", 200, func(_ *Downstream, u *Upstream) { u.Over = true; u.Relay.ResponseMalformed() }, upstream.Failure},
		{"client leaves", 200, func(d *Downstream, _ *Upstream) { d.Leave() }, upstream.Success},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, route.Rule{})
			w.do(func() {
				d := NewDownstream(t, w.loop)
				d.Begin(w.plan, none, get, true)
				u := w.connector.Opened[0]
				u.Respond(&ResponseHead{Code: row.status, Length: 10})
				u.Data([]byte("half"))
				row.end(d, u)
			})
			for o := range upstream.Outcomes {
				want := int64(0)
				if upstream.Outcome(o) == row.want {
					want = 1
				}
				if n := w.outcome(upstream.Outcome(o)); n != want {
					t.Errorf("%d attempts ended with %s, want %d", n, upstream.Outcome(o), want)
				}
			}
		})
	}
}

// TestTimeouts advances the loop's clock beyond the timeouts of a request.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		rule  route.Rule
		times exchange.Timeouts
		wait  bool
		whole bool
		want  exchange.Rejection
		head  *RequestHead
	}{
		{"no response", route.Rule{Forward: route.Forward{Timeout: Brief}}, none, false, true, exchange.GatewayTimeout, get},
		{"no connection", route.Rule{Forward: route.Forward{Timeout: Brief}}, none, true, true, exchange.Unavailable, get},
		{"no body", route.Rule{}, exchange.Timeouts{Body: Brief}, false, false, exchange.RequestTimeout, get},
		{"no 100 Continue", route.Rule{}, exchange.Timeouts{Body: Brief}, false, false, exchange.GatewayTimeout, &RequestHead{MethodName: "PUT", Host: "a", Target: "/x", Length: 5, Expect: true}},
		{
			"each try",
			route.Rule{Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnTimeout}, PerTryTimeout: Brief}}},
			none, false, true, exchange.GatewayTimeout, get,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, row.rule)
			over := make(chan *Downstream, 1)
			w.connector.Wait = row.wait
			OnLoop(t, w.loop, func() bool {
				d := NewDownstream(t, w.loop)
				d.Responded = func() { over <- d }
				d.Begin(w.plan, row.times, row.head, row.whole)
				return true
			})
			select {
			case d := <-over:
				if d.Rejected == nil || *d.Rejected != row.want {
					t.Errorf("rejected %v, want %v", d.Rejected, row.want)
				}
			case <-time.After(Patience):
				t.Fatal("no deadline passes")
			}
			if got := len(w.connector.Opened); row.rule.Forward.Retry != nil && got != 2 {
				t.Errorf("%d attempts, want 2", got)
			}
		})
	}
}

// An attempt that times out while it waits for a connection does not count against the endpoint: nothing was sent.
func TestTryThatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnTimeout}, PerTryTimeout: Brief}}})
	w.connector.Wait = true
	over := make(chan *Downstream, 1)
	OnLoop(t, w.loop, func() bool {
		d := NewDownstream(t, w.loop)
		d.Responded = func() { over <- d }
		d.Begin(w.plan, none, &RequestHead{MethodName: "POST", Host: "a", Target: "/x"}, true)
		return true
	})
	select {
	case <-over:
	case <-time.After(Patience):
		t.Fatal("no deadline passes")
	}
	for _, e := range w.plan.Clusters[0].Snapshot().Endpoints {
		if n := e.Outcomes[upstream.Timeout]; n != 0 {
			t.Errorf("%d timeouts count against %s, want none", n, e.Address)
		}
	}
	if got := len(w.connector.Opened); got != 2 {
		t.Errorf("%d attempts of a request of which nothing was sent, want 2", got)
	}
}

// If a server stops within its response, before or after the first byte of the body, the proxy waits no longer than
// Timeouts.Body.
func TestStallWithinAResponse(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "half"} {
		w := newWorld(t, route.Rule{})
		over := make(chan *Downstream, 1)
		OnLoop(t, w.loop, func() bool {
			d := NewDownstream(t, w.loop)
			d.Responded = func() { over <- d }
			d.Begin(w.plan, exchange.Timeouts{Body: Brief}, get, true)
			u := w.connector.Opened[0]
			u.Respond(&ResponseHead{Code: 200, Length: 10})
			if body != "" {
				u.Data([]byte(body))
			}
			return true
		})
		select {
		case d := <-over:
			if !d.WasReset || !w.connector.Opened[0].Canceled {
				t.Errorf("behind %q: reset %v, canceled %v", body, d.WasReset, w.connector.Opened[0].Canceled)
			}
			if n := w.outcome(upstream.Timeout); n != 1 {
				t.Errorf("behind %q: %d timeouts of the server, want 1", body, n)
			}
		case <-time.After(Patience):
			t.Fatalf("behind %q: no deadline passes", body)
		}
	}
}

// A client is paused because the server of an attempt is full, and the attempt fails. The next server gets the copied bytes,
// and the client resumes.
func TestRetryEndsAPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnReset}}}})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		d.Begin(w.plan, none, &RequestHead{MethodName: "PUT", Host: "a", Target: "/x", Length: -1}, false)
		first := w.connector.Opened[0]
		first.Full = true
		d.Send([]byte("one,"))
		first.Fail(exchange.Failure{Cause: route.OnReset, Sent: true})
		if !d.CanSend() {
			t.Error("the client stays paused, though the second server reads")
		}
		d.Send([]byte("two"))
		d.End(nil)
		u := w.connector.Opened[1]
		u.Respond(&ResponseHead{Code: 204})
		u.End(nil)
		if u.Body.String() != "one,two" || d.Status != 204 {
			t.Errorf("status %d, the server got %q", d.Status, u.Body.String())
		}
	})
}

// TestEveryOrder makes both sides act at random within the contract. Nothing may break the contract, and a response
// that ends must be complete.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	chance := Rand(t)
	w := newWorld(t, route.Rule{Forward: route.Forward{
		Retry: &route.Retry{On: []route.Cause{route.OnReset, route.OnConnectFailure, route.On5xx}, Attempts: 3, Budget: route.RetryBudget{Ratio: 10}},
	}})
	ends := map[string]int{}
	for range 5000 {
		w.do(func() {
			w.connector.Opened = nil
			w.connector.Resend = chance.IntN(2) == 0
			w.connector.ReusedNext, w.connector.Wait, w.connector.Refuse = chance.IntN(2) == 0, chance.IntN(4) == 0, chance.IntN(20) == 0
			d := NewDownstream(t, w.loop)
			var sent, said bytes.Buffer
			d.Begin(w.plan, none, []*RequestHead{get, post}[chance.IntN(2)], false)
			ended, responding := false, false
			for steps := 0; !d.Ended && steps < 200; steps++ {
				u := w.connector.Opened[len(w.connector.Opened)-1]
				piece := fmt.Appendf(nil, "%d,", steps)
				switch action := chance.IntN(14); {
				case action < 3 && d.CanSend() && !ended:
					sent.Write(piece)
					d.Send(piece)
				case action == 3 && !ended && d.CanSend() && chance.IntN(2) == 0:
					ended = true
					sent.Write(piece)
					d.SendLast(piece)
				case action == 3 && !ended && !d.Ended && (d.CanSend() || !d.Relay.Ready()):
					ended = true
					d.End(nil)
				case action == 4 && u.Waiting && !u.Over:
					u.Connect()
				case action == 5 && u.CanRespond() && !responding:
					u.Interim(103)
				case action == 6 && u.CanRespond() && !responding:
					said.Reset()
					responding = u.Respond(&ResponseHead{Code: []int{200, 503}[chance.IntN(2)], Length: -1})
				case action < 9 && responding && u.CanRespond():
					said.Write(piece)
					u.Data(piece)
				case action == 9 && responding && u.CanRespond() && chance.IntN(2) == 0:
					said.Write(piece)
					u.LastData(piece)
				case action == 9 && responding && u.CanRespond():
					u.End(nil)
				case action == 10 && !u.Over && !u.Waiting && !responding && w.connector.Resend && chance.IntN(4) == 0:
					u.Fail(exchange.Failure{Cause: route.OnRefusedStream, Stale: chance.IntN(2) == 0})
				case action == 10 && !u.Over && !u.Waiting && chance.IntN(4) == 0:
					u.Fail(exchange.Failure{Cause: []route.Cause{route.OnReset, route.OnConnectFailure}[chance.IntN(2)], Sent: chance.IntN(2) == 0, Stale: u.Reused() && !responding})
				case action == 11 && !u.Over && !u.Waiting:
					if u.Full = !u.Full; !u.Full {
						u.Drain()
					}
				case action == 12:
					if d.Full = !d.Full; !d.Full {
						d.Drain()
					}
				case action == 13 && chance.IntN(20) == 0:
					d.Leave()
				}
			}
			if !d.Ended {
				d.Leave()
			}
			u := (*Upstream)(nil)
			if n := len(w.connector.Opened); n > 0 {
				u = w.connector.Opened[n-1]
			}
			switch {
			case u == nil:
				ends["refused"]++
			case d.Rejected != nil:
				ends["rejected"]++
			case d.WasReset:
				ends["reset"]++
			case d.Status != 0 && !u.Canceled:
				ends["whole"]++
				if d.Body.String() != said.String() {
					t.Errorf("the client got %q, the server said %q", d.Body.String(), said.String())
				}
				if u.Whole && u.Body.String() != sent.String() {
					t.Errorf("the server got %q, the client sent %q", u.Body.String(), sent.String())
				}
			default:
				ends["left"]++
			}
			for _, u := range w.connector.Opened {
				if !u.Over {
					t.Error("an upstream is left")
				}
			}
			d.Relay.Release()
		})
		if t.Failed() {
			return
		}
	}
	for _, end := range []string{"refused", "rejected", "reset", "whole", "left"} {
		if ends[end] == 0 {
			t.Errorf("no request ended so: %s; of %v", end, ends)
		}
	}
}
