package proxytest

import (
	"testing"
	"time"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

var call = &RequestHead{MethodName: "POST", Host: "a", Target: "/s/m", Length: -1, Fields: Fields{{"Content-Type", "application/grpc+proto"}}}

// beginCall begins a gRPC request, which is complete.
func (w *world) beginCall(d *Downstream) {
	d.Begin(w.plan, none, call, false)
	d.Send([]byte("request"))
	d.End(nil)
}

func (w *world) outcome(o upstream.Outcome) (n int64) {
	for _, e := range w.plan.Clusters[0].Snapshot().Endpoints {
		n += e.Outcomes[o]
	}
	return n
}

// The gRPC status of a response decides about the attempt and is counted, whether it arrives in the head or in trailers.
func TestGRPCStatus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		http     int
		head     Fields // with a status, the head is the whole response
		trailers Fields
		want     traffic.Code
		failures int64
	}{
		{"success", 200, nil, Fields{{"grpc-status", "0"}}, traffic.GRPC(0), 0},
		{"failure of the server", 200, nil, Fields{{"grpc-message", "x"}, {"grpc-status", "14"}}, traffic.GRPC(14), 1},
		{"failure of the client", 200, nil, Fields{{"grpc-status", "3"}}, traffic.GRPC(3), 0},
		{"no status", 200, nil, nil, traffic.GRPC(traffic.GRPCUnknown), 1},
		{"no number", 200, nil, Fields{{"grpc-status", "1x"}}, traffic.GRPC(traffic.GRPCUnknown), 1},
		{"empty status", 200, nil, Fields{{"grpc-status", ""}}, traffic.GRPC(traffic.GRPCUnknown), 1},
		{"unknown status", 200, nil, Fields{{"grpc-status", "99"}}, traffic.GRPC(traffic.GRPCUnknown), 1},
		{"long status", 200, nil, Fields{{"grpc-status", "18446744073709551616"}}, traffic.GRPC(traffic.GRPCUnknown), 1},
		{"head only", 200, Fields{{"grpc-status", "13"}}, nil, traffic.GRPC(13), 1},
		{"head only, success", 200, Fields{{"grpc-status", "0"}}, nil, traffic.GRPC(0), 0},
		{"HTTP status", 503, nil, nil, traffic.HTTP(503), 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, route.Rule{})
			w.do(func() {
				d := NewDownstream(t, w.loop)
				w.beginCall(d)
				u := w.connector.Opened[0]
				u.Respond(&ResponseHead{Code: row.http, Length: -1, Fields: row.head})
				if row.head == nil {
					u.Data([]byte("response"))
				}
				u.End(row.trailers)
				if !d.Ended || d.Status != row.http {
					t.Errorf("status %d, ended %v", d.Status, d.Ended)
				}
			})
			if n := w.Metrics.Snapshot().Routes[0].Requests[row.want]; n != 1 {
				t.Errorf("counted as %v, want one %s", w.Metrics.Snapshot().Routes[0].Requests, row.want)
			}
			if n := w.outcome(upstream.Failure) + w.outcome(upstream.Unavailable); n != row.failures {
				t.Errorf("%d failures of the server, want %d", n, row.failures)
			}
		})
	}
}

// Without trailers, the outcome of a gRPC response depends on the side that ended the response.
func TestGRPCWithoutTrailers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		end  func(d *Downstream, u *Upstream)
		want upstream.Outcome
		code traffic.Code
	}{
		{"client leaves", func(d *Downstream, _ *Upstream) { d.Leave() }, upstream.Canceled, 0},
		{"server resets", func(_ *Downstream, u *Upstream) { u.Fail(exchange.Failure{Cause: route.OnReset, Sent: true}) }, upstream.Reset, traffic.GRPC(13)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, route.Rule{})
			w.do(func() {
				d := NewDownstream(t, w.loop)
				w.beginCall(d)
				u := w.connector.Opened[0]
				u.Respond(&ResponseHead{Code: 200, Length: -1})
				row.end(d, u)
			})
			if n := w.outcome(row.want); n != 1 {
				t.Errorf("%d attempts ended with %s, want 1", n, row.want)
			}
			if got := w.Metrics.Snapshot().Routes[0].Requests; got[row.code] != 1 {
				t.Errorf("counted as %v, want one %s", got, row.code)
			}
		})
	}
}

// The deadline of a gRPC call ends it in each phase with DEADLINE_EXCEEDED. The client has chosen the time, so the server is not at
// fault.
func TestGRPCTimeout(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		wait   bool
		answer func(u *Upstream)
	}{
		{"no connection", true, nil},
		{"no response", false, func(*Upstream) {}},
		{"head only", false, func(u *Upstream) { u.Respond(&ResponseHead{Code: 200, Length: -1}) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, route.Rule{})
			w.connector.Wait = row.wait
			over := make(chan *Downstream, 1)
			OnLoop(t, w.loop, func() bool {
				d := NewDownstream(t, w.loop)
				d.Responded = func() { over <- d }
				limited := *call
				limited.Fields = append(Fields{{"grpc-timeout", "20m"}}, call.Fields...)
				d.Begin(w.plan, none, &limited, true)
				if row.answer != nil {
					row.answer(w.connector.Opened[0])
				}
				return true
			})
			select {
			case d := <-over:
				if d.Status == 0 && (d.Rejected == nil || *d.Rejected != exchange.GatewayTimeout) || d.Status != 0 && !d.WasReset {
					t.Errorf("status %d, rejected %v, reset %v", d.Status, d.Rejected, d.WasReset)
				}
			case <-time.After(Patience):
				t.Fatal("no deadline passes")
			}
			if n := w.outcome(upstream.Canceled); n != 1 || !w.connector.Opened[0].Canceled {
				t.Errorf("%d canceled attempts, canceled %v, want 1", n, w.connector.Opened[0].Canceled)
			}
			if got := w.Metrics.Snapshot().Routes[0].Requests; got[traffic.GRPC(4)] != 1 {
				t.Errorf("counted as %v, want one %s", got, traffic.GRPC(4))
			}
		})
	}
}

// A server that cancels a gRPC call gives its client CANCELLED, before and within the response.
func TestGRPCCanceledByTheServer(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{false, true} {
		w := newWorld(t, route.Rule{})
		w.do(func() {
			d := NewDownstream(t, w.loop)
			w.beginCall(d)
			u := w.connector.Opened[0]
			if started {
				u.Respond(&ResponseHead{Code: 200, Length: -1})
			}
			u.Fail(exchange.Failure{Cause: route.OnReset, Sent: true, Canceled: true})
			if started != d.WasReset || !started && (d.Rejected == nil || *d.Rejected != exchange.ServerCanceled) {
				t.Errorf("response started %v: rejected %v, reset %v", started, d.Rejected, d.WasReset)
			}
		})
		if got := w.Metrics.Snapshot().Routes[0].Requests; got[traffic.GRPC(1)] != 1 {
			t.Errorf("response started %v: counted as %v, want one %s", started, got, traffic.GRPC(1))
		}
	}
}

// A server that cancels a gRPC call when its deadline passes gives its client DEADLINE_EXCEEDED, also if the relay has not noticed yet.
func TestGRPCCanceledAtTheDeadline(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{false, true} {
		w := newWorld(t, route.Rule{})
		w.do(func() {
			d := NewDownstream(t, w.loop)
			limited := *call
			limited.Fields = append(Fields{{"grpc-timeout", "9m"}}, call.Fields...)
			d.Begin(w.plan, none, &limited, true)
			u := w.connector.Opened[0]
			if started {
				u.Respond(&ResponseHead{Code: 200, Length: -1})
			}
			u.Fail(exchange.Failure{Cause: route.OnReset, Sent: true, Canceled: true})
			if started != d.WasReset || !started && (d.Rejected == nil || *d.Rejected != exchange.GatewayTimeout) {
				t.Errorf("response started %v: rejected %v, reset %v", started, d.Rejected, d.WasReset)
			}
		})
		if got := w.Metrics.Snapshot().Routes[0].Requests; got[traffic.GRPC(4)] != 1 {
			t.Errorf("response started %v: counted as %v, want one %s", started, got, traffic.GRPC(4))
		}
	}
}

// A gRPC status is retried only if the head is the whole response. The first bytes of a message cannot be taken back.
func TestRetryOfAGRPCStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{Forward: route.Forward{Retry: &route.Retry{GRPCStatuses: []int{14}, Idempotent: true}}})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		w.beginCall(d)
		if w.connector.Opened[0].Respond(&ResponseHead{Code: 200, Fields: Fields{{"grpc-status", "14"}}}) {
			t.Fatal("status 14 goes to the client")
		}
		u := w.connector.Opened[1]
		u.Respond(&ResponseHead{Code: 200, Length: -1})
		u.End(Fields{{"grpc-status", "14"}})
		if u.Body.String() != "request" || d.Trailers.Get("grpc-status") == nil {
			t.Errorf("the second server got %q, the client got trailers %v", u.Body.String(), d.Trailers)
		}
	})
	if got := w.Metrics.Snapshot().Routes[0]; got.Retries != 1 || got.Requests[traffic.GRPC(14)] != 1 {
		t.Errorf("%d retries, requests %v", got.Retries, got.Requests)
	}
}

// A rejected gRPC request counts with the gRPC status that the client gets.
func TestRejectionOfAGRPCRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, route.Rule{})
	w.do(func() {
		d := NewDownstream(t, w.loop)
		w.beginCall(d)
		w.connector.Opened[0].Fail(exchange.Failure{Cause: route.OnConnectFailure, TimedOut: true})
		if d.Rejected == nil || *d.Rejected != exchange.GatewayTimeout {
			t.Errorf("rejected %v", d.Rejected)
		}
	})
	if got := w.Metrics.Snapshot().Routes[0].Requests; got[traffic.GRPC(4)] != 1 {
		t.Errorf("counted as %v, want one %s", got, traffic.GRPC(4))
	}
}
