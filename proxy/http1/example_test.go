package http1_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"example.com/ferry/format/all"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// A proxy in front of one server. Package proxy creates all of this from a configuration.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s", r.URL.Path[1:])
	}))
	defer server.Close()

	group, err := loop.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	web, err := upstream.New(&upstream.Config{
		Name:      "web",
		Endpoints: []upstream.EndpointConfig{{Address: server.Listener.Addr().String()}},
	}, group, slog.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{
		Hosts:  []string{"*"},
		Routes: []route.Rule{{Cluster: "web"}},
	}}}, all.Formats())
	if err != nil {
		fmt.Println(err)
		return
	}
	metrics := traffic.NewMetrics(len(group.Loops()))
	plan := exchange.NewPlan(nil, "public", table, map[string]*upstream.Cluster{"web": web}, metrics, nil)

	service := http1.New(nil, len(group.Loops()))
	service.Use(&http1.Config{HTTPConfig: exchange.HTTPConfig{Via: "ferry"}}, plan)
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := group.Listen(at, service.Accept)
	if err != nil {
		fmt.Println(err)
		return
	}

	resp, err := http.Get("http://" + ln.Addr().String() + "/world")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	fmt.Println(resp.Header.Get("Via"))
	fmt.Println(group.Shutdown(context.Background()))
	// Output:
	// hello, world <nil>
	// 1.1 ferry
	// <nil>
}

func ExampleConfig_Check() {
	c := http1.Config{HTTPConfig: exchange.HTTPConfig{TrustForwarded: true, MaxRequests: -1, Upgrades: []string{"web socket"}}}
	fmt.Println(c.Check())
	// Output:
	// http1: upgrades[0]: "web socket" is no protocol: write websocket or another name
	// http1: trust_forwarded: needs forwarded_for: set both, or none to let the fields pass unchanged
	// http1: max_requests: -1: write a number, or 0 for no bound
}
