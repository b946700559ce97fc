package dashboard

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/ferry/proxy/upstream"
)

// faultyServer is an HTTP server whose health checks and requests fail on demand.
type faultyServer struct {
	address      string
	checksFail   atomic.Bool
	requestsFail atomic.Bool
}

func newFaultyServer(t *testing.T) *faultyServer {
	t.Helper()
	m := &faultyServer{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" && m.checksFail.Load() || r.URL.Path != "/health" && m.requestsFail.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	m.address = s.Listener.Addr().String()
	return m
}

// request sends requests to url until stop is called.
func request(t *testing.T, url string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} { // what one client alone sees ejects no endpoint
		client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext}}
		t.Cleanup(client.CloseIdleConnections)
		wg.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if response, err := client.Do(r); err == nil {
					response.Body.Close()
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// figure is the text of one of the proxy's tiles.
func figure(tile string) string {
	return `document.querySelector('[data-tile="` + tile + `"] output').textContent`
}

// row is the text of a column in the first row of a table.
func row(table, column string) string {
	return `document.querySelector('#` + table + ` td[data-title="` + column + `"]')?.textContent`
}

// TestProxyDashboard opens the dashboard of a node with only a proxy in a browser.
func TestProxyDashboard(t *testing.T) {
	b := open(t)
	steady, server := newFaultyServer(t), newFaultyServer(t)
	cfg := quiet(t)
	cfg.Listeners, cfg.Proxy = nil, inFrontOf(steady.address)
	cfg.Proxy.Listeners[0].Name = "public"
	cfg.Proxy.Clusters[0] = upstream.Config{
		Name: "web", Endpoints: []upstream.EndpointConfig{{Address: steady.address}, {Address: server.address}},
		Health:  &upstream.Health{Kind: upstream.HealthHTTP, Path: "/health", Interval: 50 * time.Millisecond, Timeout: 10 * time.Second},
		Outlier: &upstream.Outlier{Failures: 1, EjectionTime: time.Hour, Statuses: []int{http.StatusInternalServerError}},
	}
	n := build(t, cfg)
	cfg.Admin.Address = strings.TrimSuffix(strings.TrimPrefix(n.Admin(), "http://"), "/")
	stop := run(t, n)

	b.do(chromedp.Navigate(n.Admin()))
	b.wait("the page is connected", isLive)
	const hint = `document.getElementById("no-requests")`
	b.wait("the page says how to send a request", `!`+hint+`.hidden && `+hint+`.textContent.includes("curl `+through(t, n)+`")`)
	b.wait("nothing is shown of streams", `[...document.querySelectorAll('[data-part="streams"]'), document.getElementById("heavy")].every((e) => e.hidden)`)

	stopRequests := request(t, through(t, n))
	b.wait("the hint goes", hint+`.hidden`)
	for _, tile := range []string{"requests", "p50", "p99", "connections", "endpoints"} {
		b.wait("the tile has a number: "+tile, `/[1-9]/.test(`+figure(tile)+`)`)
	}
	b.wait("nothing fails", figure("failing")+` === "0.0%"`)
	b.wait("the listener has requests", row("listeners", "Listener")+` === "public" && /^[1-9]/.test(`+row("listeners", "Requests")+`)`)
	b.wait("the route has times", `/[1-9].*s$/.test(`+row("routes", "p50")+`) && /[1-9].*s$/.test(`+row("routes", "p99")+`)`)
	b.wait("the endpoints have requests", `[...document.querySelectorAll('.cluster td[data-title="Requests"]')].filter((e) => /^[1-9]/.test(e.textContent)).length === 2`)
	for _, id := range []string{"proxy-responses", "proxy-latency", "proxy-failures", "proxy-connections"} {
		b.do(chromedp.ScrollIntoView("#" + id))
		b.wait(id+" has a legend", `document.querySelector("#`+id+` .legend b")`)
	}
	themes(b, "proxy-responses")

	const trouble = `document.getElementById("problems")`
	server.checksFail.Store(true)
	b.wait("an endpoint that is down is seen", `document.querySelector(".cluster.down .pill.failed")`)
	b.wait("and named", trouble+`.textContent === "`+server.address+` of web is down: its health checks fail: status 500" && !`+trouble+`.hidden`)
	b.wait("and not counted", figure("endpoints")+` === "1of 2"`)
	server.checksFail.Store(false)
	b.wait("an endpoint is back", `!document.querySelector(".cluster.down") && `+trouble+`.hidden`)

	server.requestsFail.Store(true)
	b.wait("an ejected endpoint is seen", `document.querySelector(".cluster.ejected") && /^ejected, [0-9,]+ s left$/.test(document.querySelector("td .pill.waiting")?.textContent)`)
	b.wait("and named", trouble+`.textContent === "`+server.address+` of web is ejected: its requests failed: its response is status 500"`)

	b.do(chromedp.EmulateViewport(375, 812))
	if wide := b.text(`String(document.documentElement.scrollWidth)`); wide != "375" {
		t.Errorf("on a phone the page is %s wide, want 375", wide)
	}
	b.do(chromedp.EmulateViewport(1280, 900))
	if c := b.consoleErrors(false); len(c) > 0 {
		t.Errorf("the console says %q", c)
	}

	stopRequests()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.wait("the page says that the node is gone", `document.getElementById("state").textContent === "reconnecting" && !document.getElementById("banner").hidden`)
	stop = run(t, build(t, cfg))
	b.wait("the page reconnects", isLive)
	b.wait("and the counters start again", `!`+hint+`.hidden`)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	streams := quiet(t)
	streams.Admin.Address = cfg.Admin.Address
	run(t, build(t, streams))
	b.wait("the page shows the new node at the same address", `document.getElementById("proxy").hidden && !document.getElementById("tiles").parentElement.hidden && `+isLive)
	if c := b.consoleErrors(true); len(c) > 0 {
		t.Errorf("the console says %q", c)
	}
}
