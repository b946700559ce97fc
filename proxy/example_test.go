package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// server starts a server that responds with its name and the path of the request.
func server(name string) (cluster upstream.Config, stop func()) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, name, "is asked for", r.URL.Path)
	}))
	return upstream.Config{Name: name, Endpoints: []upstream.EndpointConfig{{Address: strings.TrimPrefix(s.URL, "http://")}}}, s.Close
}

// run starts a proxy and returns the URL of its first listener.
func run(cfg *proxy.Config, formats ...format.Format) (p *proxy.Proxy, url string) {
	p, err := proxy.New(cfg, formats, nil)
	if err != nil {
		log.Fatal(err)
	}
	return p, strings.Replace(p.Addresses()[0], "http1://", "http://", 1)
}

func post(url, body string) {
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		log.Fatal(err)
	}
	fmt.Print(r.StatusCode, " ", string(answer))
}

func stop(p *proxy.Proxy) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	err := p.Shutdown(ctx)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

// The smallest configuration: one listener and one cluster.
func Example() {
	web, end := server("web")
	defer end()
	p, url := run(&proxy.Config{
		Listeners: []proxy.Listener{{Address: "127.0.0.1:0", Protocol: proxy.HTTP1, Cluster: "web"}},
		Clusters:  []upstream.Config{web},
	})
	defer stop(p)
	post(url+"/index.html", "")
	// Output: 200 web is asked for /index.html
}

// A field of the payload decides which cluster a request is forwarded to. The proxy does not decode the payload, and
// reads only as much of it as it needs.
func Example_payload() {
	hot, end := server("hot")
	defer end()
	rest, end := server("rest")
	defer end()
	p, url := run(&proxy.Config{
		Listeners: []proxy.Listener{{Address: "127.0.0.1:0", Protocol: proxy.HTTP1, Routes: []route.Rule{
			{Cluster: "hot", Match: route.Match{Payload: &route.Payload{Format: "json", Where: "reading.value > 30"}}},
			{Cluster: "rest"},
		}}},
		Clusters: []upstream.Config{hot, rest},
	}, json.Format{})
	defer stop(p)
	post(url, `{"reading":{"value":31}}`)
	post(url, `{"reading":{"value":29}}`)
	// Output:
	// 200 hot is asked for /
	// 200 rest is asked for /
}

// One listener responds itself, except for requests with a certain prefix. These are forwarded to a server, without
// the prefix.
func Example_gateway() {
	api, end := server("api")
	defer end()
	p, url := run(&proxy.Config{
		Listeners: []proxy.Listener{{Address: "127.0.0.1:0", Protocol: proxy.HTTP1, Routes: []route.Rule{
			{Cluster: "api", Match: route.Match{SegmentPrefix: "/api"}, Forward: route.Forward{Rewrite: route.Rewrite{Prefix: "/"}, Timeout: time.Second}},
			{Respond: &route.Response{Status: 404, Body: "try /api\n", Headers: []http1.Pair{{Name: "Content-Type", Value: "text/plain"}}}},
		}}},
		Clusters: []upstream.Config{api},
	})
	defer stop(p)
	post(url+"/api/users", "")
	post(url+"/else", "")
	// Output:
	// 200 api is asked for /users
	// 404 try /api
}

// A server moves to another address. The listener stays open during the reload, and no request is lost.
func ExampleProxy_Reload() {
	blue, end := server("blue")
	defer end()
	green, end := server("green")
	defer end()
	config := func(to upstream.Config) *proxy.Config {
		return &proxy.Config{
			Listeners: []proxy.Listener{{Address: "127.0.0.1:0", Protocol: proxy.HTTP1, Cluster: to.Name}},
			Clusters:  []upstream.Config{to},
		}
	}
	p, url := run(config(blue))
	defer stop(p)
	post(url, "")
	if err := p.Reload(config(green)); err != nil {
		fmt.Println(err)
	}
	post(url, "")
	// Output:
	// 200 blue is asked for /
	// 200 green is asked for /
}
