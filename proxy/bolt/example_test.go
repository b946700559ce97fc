package bolt_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// A request without a route gets an error response.
func Example() {
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = group.Shutdown(context.Background()) }()
	echo, err := upstream.New(&upstream.Config{Name: "echo", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:12300"}}}, group, slog.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	rule := route.Rule{Name: "echo", Cluster: "echo"}
	rule.Match.Bolt.Service = "com.example.Echo:1.0"
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{rule}}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	metrics := traffic.NewMetrics(len(group.Loops()))
	s := bolt.New(nil, len(group.Loops()))
	s.Use(nil, exchange.NewPlan(nil, "rpc", table, map[string]*upstream.Cluster{"echo": echo}, metrics, nil))
	addr, _ := loop.ParseAddr("127.0.0.1:0")
	listener, err := group.Listen(addr, s.Accept)
	if err != nil {
		fmt.Println(err)
		return
	}

	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	request, _ := wire.Append(nil, wire.Message{
		Dialect: wire.V1, Type: wire.Request, Command: wire.CommandRequest, ID: 7,
		Header: wire.AppendPair(nil, wire.Service, "com.example.Other:1.0"),
	})
	answer := make([]byte, 20)
	if _, err = client.Write(request); err == nil {
		_, err = io.ReadFull(client, answer)
	}
	f, _, _ := wire.Next(answer, wire.Limits{})
	fmt.Println(err, f.Type(), f.ID(), f.Status())
	// Output: <nil> response 7 no processor
}

// Routes that use features of HTTP are refused for Bolt.
func ExampleCheckRoutes() {
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{
		Hosts:  []string{"*"},
		Routes: []route.Rule{{Name: "moved", Redirect: &route.Redirect{Host: "example.com"}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bolt.CheckRoutes(table))
	// Output: bolt: virtual_hosts[0].routes[0].redirect: Bolt has no redirects: forward to a cluster
}
