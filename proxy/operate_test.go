package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// operated is a proxy before two servers. The path /wait makes a server wait until release is closed.
type operated struct {
	*Proxy
	cfg     *Config
	url     string
	servers [2]string
	arrived chan string // the server of a request to /wait
	release chan struct{}
}

func newOperated(t *testing.T, balance upstream.Balance) *operated {
	t.Helper()
	o := &operated{arrived: make(chan string, 2), release: make(chan struct{})}
	for i := range o.servers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				o.arrived <- r.Host
				<-o.release
			}
			fmt.Fprint(w, i)
		}))
		t.Cleanup(server.Close)
		o.servers[i] = strings.TrimPrefix(server.URL, "http://")
	}
	c := cluster1("c", o.servers[0], o.servers[1])
	c.Balance = balance
	o.cfg = &Config{
		Listeners: []Listener{{Name: "l", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "c"}},
		Clusters:  []upstream.Config{c},
	}
	o.Proxy = start(t, o.cfg)
	o.url = "http://" + at(o.Proxy, 0)
	return o
}

// get returns status and body of a response.
func (o *operated) get(t *testing.T) (int, string) {
	t.Helper()
	r, err := http.Get(o.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// endpoint returns the counters of a server.
func (o *operated) endpoint(t *testing.T, i int) upstream.EndpointStats {
	t.Helper()
	for _, e := range o.Snapshot().Clusters[0].Endpoints {
		if e.Address == o.servers[i] {
			return e
		}
	}
	t.Fatalf("no endpoint %s", o.servers[i])
	return upstream.EndpointStats{}
}

// drain drains or undrains a server.
func (o *operated) drain(t *testing.T, i int, drained bool) upstream.Change {
	t.Helper()
	c, err := o.DrainEndpoint("c", o.servers[i], drained)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDrainEndpoint checks that a request in flight at a drained endpoint ends, that new ones go to the other one, and that there is a
// 503 if no endpoint is left.
func TestDrainEndpoint(t *testing.T) {
	t.Parallel()
	for _, balance := range []upstream.Balance{upstream.LeastRequest, upstream.RoundRobin, upstream.EWMA} {
		t.Run(string(balance), func(t *testing.T) {
			t.Parallel()
			o := newOperated(t, balance)
			o.drain(t, 1, true) // so that the request goes to the first
			done := make(chan string, 1)
			go func() {
				status, body := 0, ""
				if r, err := http.Get(o.url + "/wait"); err == nil {
					b, _ := io.ReadAll(r.Body)
					r.Body.Close()
					status, body = r.StatusCode, string(b)
				}
				done <- fmt.Sprint(status, " ", body)
			}()
			<-o.arrived
			o.drain(t, 1, false)
			if c := o.drain(t, 0, true); c.Available != 1 || !c.Endpoint.Drained || c.Endpoint.Active != 1 {
				t.Errorf("%+v, want one endpoint left, and a request in flight at the other", c)
			}
			for range 20 {
				if status, body := o.get(t); status != 200 || body != "1" {
					t.Fatalf("%d %q, want the response of the endpoint that is left", status, body)
				}
			}
			if c := o.drain(t, 1, true); c.Available != 0 {
				t.Errorf("%+v, want no endpoint left", c)
			}
			if status, _ := o.get(t); status != 503 {
				t.Errorf("status %d without an endpoint, want 503", status)
			}
			if n := o.Snapshot().Traffic.Listeners[0].Refused[traffic.NoEndpoint]; n != 1 {
				t.Errorf("%d requests counted as without an endpoint, want 1", n)
			}
			close(o.release)
			if got := <-done; got != "200 0" {
				t.Errorf("the request in flight: %s, want 200 0", got)
			}
			o.drain(t, 0, false)
			if status, body := o.get(t); status != 200 || body != "0" {
				t.Errorf("%d %q after the end of draining, want the response of this endpoint", status, body)
			}
		})
	}
}

// TestWeighEndpoint checks that requests follow a weight, and that a reload which changes the cluster keeps what an operator did.
func TestWeighEndpoint(t *testing.T) {
	t.Parallel()
	o := newOperated(t, upstream.RoundRobin)
	if c, err := o.WeighEndpoint("c", o.servers[0], 9); err != nil || c.Endpoint.Weight != 9 || c.Endpoint.Configured != 1 || c.Available != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	got := 0
	for range 100 {
		if _, body := o.get(t); body == "0" {
			got++
		}
	}
	if got < 85 || got > 95 {
		t.Errorf("%d of 100 requests, want 90", got)
	}
	o.drain(t, 1, true)
	same := *o.cfg
	if err := o.Reload(&same); err != nil {
		t.Fatal(err)
	}
	if o.endpoint(t, 0).Weight != 9 || !o.endpoint(t, 1).Drained {
		t.Error("a reload that does not change the cluster has undone weight or draining")
	}
	other := *o.cfg
	other.Clusters = []upstream.Config{o.cfg.Clusters[0]}
	other.Clusters[0].Streams = 7
	if err := o.Reload(&other); err != nil {
		t.Fatal(err)
	}
	if o.endpoint(t, 0).Weight != 9 || !o.endpoint(t, 1).Drained {
		t.Error("a reload that changes the cluster has undone weight or draining")
	}
}

// TestUnknownEndpoint checks the errors of what does not exist.
func TestUnknownEndpoint(t *testing.T) {
	t.Parallel()
	o := newOperated(t, "")
	for _, row := range []struct {
		cluster, address string
		weight           int
		want             error
	}{
		{"x", o.servers[0], 1, ErrUnknownCluster},
		{"c", "127.0.0.1:1", 1, upstream.ErrUnknownEndpoint},
		{"c", o.servers[0], -1, upstream.ErrWeight},
		{"c", o.servers[0], 1001, upstream.ErrWeight},
		{"c", o.servers[0], 1000, nil},
	} {
		if _, err := o.WeighEndpoint(row.cluster, row.address, row.weight); !errors.Is(err, row.want) {
			t.Errorf("%+v: got %v", row, err)
		}
	}
	if _, err := o.DrainEndpoint("x", o.servers[0], true); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("got %v, want %v", err, ErrUnknownCluster)
	}
}
