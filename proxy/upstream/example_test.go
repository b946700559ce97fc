package upstream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// Pick returns an endpoint for a request. Done reports the outcome of the request.
func Example() {
	group, err := loop.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := upstream.New(&upstream.Config{
		Name:      "echo",
		Balance:   upstream.RoundRobin,
		Endpoints: []upstream.EndpointConfig{{Address: "192.0.2.1:12300"}, {Address: "192.0.2.2:12300"}},
	}, group, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		e, err := c.Pick(rand.Uint64(), group.Now(), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Addr())
		e.Done(upstream.Success, 2*time.Millisecond, group.Now())
	}
	fmt.Println(group.Shutdown(context.Background()))
	// Output:
	// 192.0.2.1:12300
	// 192.0.2.2:12300
	// 192.0.2.1:12300
	// <nil>
}

// Check returns all errors in a configuration, each with its field.
func ExampleConfig_Check() {
	c := upstream.Config{
		Name:      "echo",
		Endpoints: []upstream.EndpointConfig{{Address: "192.0.2.1:12300", Weight: 2000}, {Address: "192.0.2.300:12300"}},
		Health:    &upstream.Health{Kind: "ping"},
	}
	fmt.Println(c.Check())
	// Output:
	// upstream: endpoints[0].weight: 2000: give 1 to 1000, or 0 for 1
	// upstream: endpoints[1].address: "192.0.2.300:12300": "192.0.2.300" is neither an IP address nor a name
	// upstream: health.kind: "ping": write tcp, http, bolt or grpc
}

// An endpoint that fails repeatedly is ejected for a while.
func ExampleCluster_Snapshot() {
	group, err := loop.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := upstream.New(&upstream.Config{
		Name:      "echo",
		Balance:   upstream.RoundRobin,
		Endpoints: []upstream.EndpointConfig{{Address: "192.0.2.1:12300"}, {Address: "192.0.2.2:12300"}},
		Outlier:   &upstream.Outlier{Failures: 3},
	}, group, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 20 {
		e, err := c.Pick(rand.Uint64(), group.Now(), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		outcome := upstream.Success
		if e.Addr().String() == "192.0.2.2:12300" {
			outcome = upstream.ConnectFailure
		}
		e.Done(outcome, time.Millisecond, group.Now())
	}
	for _, e := range c.Snapshot().Endpoints {
		fmt.Println(e.Address, "ejected:", e.Ejected > 0, "- connections that failed:", e.Outcomes[upstream.ConnectFailure])
	}
	fmt.Println(group.Shutdown(context.Background()))
	// Output:
	// 192.0.2.1:12300 ejected: false - connections that failed: 0
	// 192.0.2.2:12300 ejected: true - connections that failed: 3
	// <nil>
}
