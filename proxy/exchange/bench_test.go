package exchange

import (
	"context"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// BenchmarkRequest compares what a request costs in an Exchange, which Bolt uses, with what it costs in a Relay between two sides that do nothing.
func BenchmarkRequest(b *testing.B) {
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = group.Shutdown(context.Background()) }()
	cluster, err := upstream.New(&upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:1"}, {Address: "127.0.0.1:2"}}}, group, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer cluster.Close()
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{{Cluster: "c"}}}}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	plan := NewPlan(nil, "l", table, map[string]*upstream.Cluster{"c": cluster}, traffic.NewMetrics(1), nil)
	found, l, body := table.Routes()[0], group.Loops()[0], make([]byte, 1024)
	run := func(b *testing.B, f func()) {
		done := make(chan struct{})
		if err := l.Post(func() {
			defer close(done)
			for b.Loop() {
				f()
			}
		}); err != nil {
			b.Fatal(err)
		}
		<-done
	}
	b.Run("exchange", func(b *testing.B) {
		var x Exchange
		run(b, func() {
			x.Begin(plan, l)
			x.Admit(found, nil)
			x.Choose()
			x.EndAttempt(upstream.Success)
			x.End(traffic.HTTP(200))
		})
	})
	b.Run("relay", func(b *testing.B) {
		c := &slowClient{}
		c.relay.Init(c, l)
		plan.Connectors = []Connector{c}
		run(b, func() {
			r := &c.relay
			r.Begin(plan, Timeouts{Body: time.Minute, BodyRate: 100})
			r.forwardTo(found, emptyHead{})
			r.WatchBody()
			r.RequestData(body, true)
			r.RequestEnd(nil)
			r.Response(okHead{}, false)
			r.ResponseData(body, true)
			r.ResponseEnd(nil)
			r.Finish(200)
			r.Release()
		})
	})
}
