package exchange_test

import (
	"context"
	"fmt"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// An attempt fails before a byte was sent. The route's retry sends the request to the other endpoint.
func ExampleExchange() {
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Shutdown(context.Background())
	web, err := upstream.New(&upstream.Config{
		Name: "web", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:1"}, {Address: "127.0.0.1:2"}}, Balance: upstream.RoundRobin,
	}, group, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{{
		Name: "all", Cluster: "web", Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnConnectFailure}}},
	}}}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := exchange.NewPlan(nil, "public", table, map[string]*upstream.Cluster{"web": web}, traffic.NewMetrics(1), nil)

	l := group.Loops()[0]
	done := make(chan bool)
	if err := l.Post(func() {
		defer close(done)
		var x exchange.Exchange
		x.Begin(plan, l)
		fmt.Println(x.Admit(plan.Table.Routes()[0], nil), x.Choose())
		fmt.Println("retry:", x.Failed(true, route.OnConnectFailure, false), x.Choose())
		x.EndAttempt(upstream.Success)
		fmt.Println("attempts:", x.Attempt)
		x.End(traffic.HTTP(200))
	}); err != nil {
		fmt.Println(err)
		return
	}
	<-done
	// Output:
	// forwarded forwarded
	// retry: true forwarded
	// attempts: 2
}
