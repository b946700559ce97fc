package exchange_test

import (
	"context"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// world has a plan and the objects that it needs.
type world struct {
	loop    *loop.Loop
	metrics *traffic.Metrics
	cluster *upstream.Cluster
	plan    *exchange.Plan
}

// do runs f on a loop. The plan has one rule and a cluster of two endpoints that allows two active requests.
func do(t *testing.T, rule route.Rule, f func(*world)) {
	t.Helper()
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := upstream.New(&upstream.Config{
		Name: "c", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:1"}, {Address: "127.0.0.1:2"}}, Balance: upstream.RoundRobin, Limits: upstream.Limits{Requests: 2},
	}, group, nil)
	if err != nil {
		t.Fatal(err)
	}
	rule.Name = "r"
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{rule}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{loop: group.Loops()[0], metrics: traffic.NewMetrics(1), cluster: cluster}
	w.plan = exchange.NewPlan(nil, "l", table, map[string]*upstream.Cluster{"c": cluster}, w.metrics, nil)
	done := make(chan struct{})
	if err := w.loop.Post(func() { defer close(done); f(w) }); err != nil {
		t.Fatal(err)
	}
	<-done
	for _, e := range cluster.Snapshot().Endpoints {
		if e.Active != 0 {
			t.Errorf("%s still has %d requests in flight", e.Address, e.Active)
		}
	}
	cluster.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := group.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// begin returns a request that is admitted and has an endpoint.
func (w *world) begin(t *testing.T) *exchange.Exchange {
	x := &exchange.Exchange{}
	x.Begin(w.plan, w.loop)
	if why := x.Admit(w.plan.Table.Routes()[0], nil); why != traffic.Forwarded {
		t.Fatalf("Admit: %v", why)
	}
	if why := x.Choose(); why != traffic.Forwarded {
		t.Fatalf("Choose: %v", why)
	}
	return x
}

func (w *world) refused(why traffic.Refusal) uint64 {
	return w.metrics.Snapshot().Listeners[0].Refused[why]
}

func TestCounts(t *testing.T) {
	t.Parallel()
	do(t, route.Rule{Cluster: "c"}, func(w *world) {
		x := w.begin(t)
		x.In, x.Out = 10, 20
		x.EndAttempt(upstream.Success)
		x.End(traffic.HTTP(200))
		r := w.metrics.Snapshot().Routes[0]
		if r.Requests[traffic.HTTP(200)] != 1 || r.In != 10 || r.Out != 20 || r.Retries != 0 {
			t.Errorf("counted %+v", r)
		}
	})
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	do(t, route.Rule{Cluster: "c"}, func(w *world) {
		w.begin(t).End(0)
		var canceled int64
		for _, e := range w.cluster.Snapshot().Endpoints {
			canceled += e.Outcomes[upstream.Canceled]
		}
		if canceled != 1 {
			t.Errorf("%d attempts were canceled, want 1", canceled)
		}
	})
}

func TestNoRoute(t *testing.T) {
	t.Parallel()
	do(t, route.Rule{Cluster: "c"}, func(w *world) {
		x := &exchange.Exchange{}
		x.Begin(w.plan, w.loop)
		if why := x.Admit(nil, nil); why != traffic.NoRoute || w.refused(why) != 1 {
			t.Errorf("Admit: %v, counted %d", why, w.refused(why))
		}
		x.End(traffic.HTTP(404))
	})
}

func TestRateLimited(t *testing.T) {
	t.Parallel()
	do(t, route.Rule{Cluster: "c", RateLimit: &route.RateLimit{RequestsPerSecond: 0.001, Burst: 1}}, func(w *world) {
		w.begin(t).End(0)
		x := &exchange.Exchange{}
		x.Begin(w.plan, w.loop)
		if why := x.Admit(w.plan.Table.Routes()[0], nil); why != traffic.RateLimited || w.refused(why) != 1 {
			t.Errorf("Admit: %v, counted %d", why, w.refused(why))
		}
		x.End(traffic.HTTP(429))
	})
}

func TestOverload(t *testing.T) {
	t.Parallel()
	do(t, route.Rule{Cluster: "c"}, func(w *world) {
		a, b := w.begin(t), w.begin(t)
		x := &exchange.Exchange{}
		x.Begin(w.plan, w.loop)
		x.Admit(w.plan.Table.Routes()[0], nil)
		if why := x.Choose(); why != traffic.Overload || w.refused(why) != 1 {
			t.Errorf("Choose: %v, counted %d", why, w.refused(why))
		}
		for _, x := range []*exchange.Exchange{a, b, x} {
			x.End(0)
		}
	})
}

// A failed attempt is retried at the other endpoint. The route says which failures are retried and how often.
func TestRepeated(t *testing.T) {
	t.Parallel()
	rule := route.Rule{Cluster: "c", Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnConnectFailure, route.OnGatewayError}, Attempts: 3}}}
	do(t, rule, func(w *world) {
		x := w.begin(t)
		first := x.Endpoint
		if !x.Failed(false, route.OnConnectFailure, false) {
			t.Fatal("a request of which nothing was sent is not repeated")
		}
		if why := x.Choose(); why != traffic.Forwarded || x.Endpoint == first || x.Attempt != 2 {
			t.Fatalf("Choose: %v, attempt %d, the same endpoint: %v", why, x.Attempt, x.Endpoint == first)
		}
		if !x.Repeat(true, 503, 0) {
			t.Fatal("503 is not repeated")
		}
		x.EndAttempt(upstream.Failure)
		x.Choose()
		if x.Repeat(true, 503, 0) {
			t.Error("there is a fourth attempt of three")
		}
		x.End(traffic.HTTP(503))
		if got := w.metrics.Snapshot().Routes[0].Retries; got != 2 {
			t.Errorf("%d retries counted, want 2", got)
		}
		x = w.begin(t)
		if x.Failed(false, route.OnReset, true) {
			t.Error("a reset is repeated, which the route does not say")
		}
		x.End(traffic.HTTP(502))
	})
}
