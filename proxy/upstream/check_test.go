package upstream_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

func at(address ...string) *upstream.Config {
	c := &upstream.Config{Name: "it"}
	for _, a := range address {
		c.Endpoints = append(c.Endpoints, upstream.EndpointConfig{Address: a})
	}
	return c
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const one = "192.0.2.1:80"
	with := func(change func(*upstream.Config)) *upstream.Config {
		c := at(one)
		change(c)
		return c
	}
	health := func(h upstream.Health) *upstream.Config {
		return with(func(c *upstream.Config) { c.Health = &h })
	}
	for _, row := range []struct {
		name string
		cfg  *upstream.Config
		want []string // expected fields
	}{
		{"least", at(one), nil},
		{"all kinds of address", at(one, "[2001:db8::1]:80", "unix:/run/it.sock", "localhost:80", "a-b.example.com.:65535", "_x.y1:1"), nil},
		{"none", nil, []string{"name", "endpoints"}},
		{"nothing at all", &upstream.Config{}, []string{"name", "endpoints"}},
		{
			"addresses",
			at("192.0.2.1", ":80", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:http", "192.0.2.300:80", "-a.b:80", "a..b:80", "a b:80", "unix:", strings.Repeat("a", 64)+".b:80", strings.Repeat("a.", 127)+"b:80"),
			[]string{
				"endpoints[0].address", "endpoints[1].address", "endpoints[2].address", "endpoints[3].address", "endpoints[4].address", "endpoints[5].address",
				"endpoints[6].address", "endpoints[7].address", "endpoints[8].address", "endpoints[9].address", "endpoints[10].address", "endpoints[11].address",
			},
		},
		{"an address twice", at(one, one), []string{"endpoints[1].address"}},
		{"weights", with(func(c *upstream.Config) {
			c.Endpoints = []upstream.EndpointConfig{{Address: one, Weight: 1000}, {Address: "a:1", Weight: 1001}, {Address: "b:1", Weight: -1}}
		}), []string{"endpoints[1].weight", "endpoints[2].weight"}},
		{"SRV records and a file", with(func(c *upstream.Config) {
			c.Endpoints = []upstream.EndpointConfig{{SRV: "_http._tcp.example.com"}, {File: "testdata/endpoints.txt"}, {Address: one, Weight: 2}}
		}), nil},
		{"SRV records and files, all wrong", with(func(c *upstream.Config) {
			c.Endpoints = []upstream.EndpointConfig{
				{},
				{Address: one, SRV: "_http._tcp.example.com"},
				{SRV: "example.com"},
				{SRV: "_a..b"},
				{SRV: "_a._tcp.b", Weight: 1},
				{SRV: "_a._tcp.b"},
				{File: "testdata/missing.txt"},
				{File: "testdata/endpoints.txt", Weight: 2},
				{File: "check_test.go"},
			}
		}), []string{
			"endpoints[0]", "endpoints[1]", "endpoints[2].srv", "endpoints[3].srv", "endpoints[4].weight", "endpoints[5].srv",
			"endpoints[6].file", "endpoints[7].weight", "endpoints[8].file",
		}},
		{"never", with(func(c *upstream.Config) { c.IdleTimeout, c.Heartbeat = -1, -1 }), nil},
		{"numbers", with(func(c *upstream.Config) {
			c.Balance = "random"
			c.ConnectTimeout, c.IdleTimeout, c.Heartbeat, c.ResolveInterval = -1, 1, 1, 30
			c.Connections, c.Streams = -1, -1
			c.Limits = upstream.Limits{Connections: -1, Requests: -1, Waiting: -1}
			c.Outlier = &upstream.Outlier{Failures: -1, EjectionTime: 30, MaxEjected: 101}
		}), []string{
			"balance", "connect_timeout", "resolve_interval", "idle_timeout", "heartbeat", "connections", "streams",
			"limits.connections", "limits.requests", "limits.waiting", "outlier.failures", "outlier.ejection_time", "outlier.max_ejected",
		}},
		{"times too long", with(func(c *upstream.Config) {
			const long = 8761 * time.Hour
			c.ConnectTimeout, c.IdleTimeout, c.Heartbeat, c.ResolveInterval = long, long, long, long
			c.Outlier = &upstream.Outlier{EjectionTime: long}
			c.Health = &upstream.Health{Kind: upstream.HealthTCP, Interval: long, Timeout: 1<<63 - 1}
		}), []string{
			"connect_timeout", "resolve_interval", "idle_timeout", "heartbeat", "outlier.ejection_time", "health.interval", "health.timeout",
		}},
		{"more requests than can be counted", with(func(c *upstream.Config) { c.Limits.Requests = 1 << 24 }), []string{"limits.requests"}},
		{"http", health(upstream.Health{Kind: "http", Path: "/health?full=1", Host: "api.example.com:80", Statuses: []int{204, 599}}), nil},
		{"http, all wrong", health(upstream.Health{
			Kind: "http", Path: "/ HTTP/1.1\r\nX: y", Host: "a/b", Statuses: []int{200, 100, 600},
			Interval: -1, Timeout: 5, Unhealthy: -1, Healthy: -1,
		}), []string{
			"health.path", "health.host", "health.statuses[1]", "health.statuses[2]",
			"health.interval", "health.timeout", "health.unhealthy", "health.healthy",
		}},
		{"path without slash", health(upstream.Health{Kind: "http", Path: "health"}), []string{"health.path"}},
		{"path of a proxy's request", health(upstream.Health{Kind: "http", Path: "http://a/"}), []string{"health.path"}},
		{"tcp with what http has", health(upstream.Health{Kind: "tcp", Path: "/", Host: "a", Statuses: []int{200}}), []string{"health.path", "health.host", "health.statuses"}},
		{"grpc", health(upstream.Health{Kind: "grpc", Service: "a.B"}), nil},
		{"grpc with what http has", health(upstream.Health{Kind: "grpc", Path: "/", Host: "a", Statuses: []int{200}}), []string{"health.path", "health.host", "health.statuses"}},
		{"a service that is no text", health(upstream.Health{Kind: "grpc", Service: "\xff"}), []string{"health.service"}},
		{"a service for http", health(upstream.Health{Kind: "http", Service: "a.B"}), []string{"health.service"}},
		{"no kind", health(upstream.Health{}), []string{"health.kind"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := row.cfg.Check()
			var errs upstream.Errors
			if err != nil && !errors.As(err, &errs) {
				t.Fatalf("%T: %v", err, err)
			}
			var got []string
			for _, e := range errs {
				got = append(got, e.Field)
			}
			slices.Sort(got)
			slices.Sort(row.want)
			if !slices.Equal(got, row.want) {
				t.Errorf("got %q\nwant %q\n%v", got, row.want, err)
			}
			if row.want != nil {
				if _, err := upstream.New(row.cfg, nil, nil); err == nil {
					t.Error("New takes it")
				}
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	given := at("192.0.2.1:80")
	given.Health, given.Outlier = &upstream.Health{Kind: upstream.HealthHTTP, Interval: time.Minute}, &upstream.Outlier{MaxEjected: 10}
	got := cluster(t, given).Config()
	if got.Balance != upstream.LeastRequest || got.Endpoints[0].Weight != 1 || got.ConnectTimeout != time.Second || got.Limits.Waiting != 10_000 {
		t.Errorf("got %+v", got)
	}
	if h := got.Health; h.Path != "/" || h.Interval != time.Minute || h.Timeout != time.Second || h.Unhealthy != 3 || h.Healthy != 2 {
		t.Errorf("got health %+v", h)
	}
	if o := got.Outlier; o.Failures != 5 || o.EjectionTime != 30*time.Second || o.MaxEjected != 10 {
		t.Errorf("got outlier %+v", o)
	}
	if given.Health.Path != "" || given.Outlier.Failures != 0 || given.Endpoints[0].Weight != 0 {
		t.Errorf("New changed what it was given: %+v", given)
	}
}
