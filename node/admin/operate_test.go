package admin

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/upstream"
)

// operated is a node with one endpoint and one connection.
type operated struct {
	drained bool
	weight  int
	level   LogLevel
	closed  []string
	query   ConnectionQuery
}

func (o *operated) change(cluster, address string) (upstream.Change, error) {
	switch {
	case cluster != "web":
		return upstream.Change{}, proxy.ErrUnknownCluster
	case address != "unix:/run/a.sock":
		return upstream.Change{}, upstream.ErrUnknownEndpoint
	case o.weight > 1000:
		return upstream.Change{}, upstream.ErrWeight
	}
	return upstream.Change{Endpoint: upstream.EndpointStats{Address: address, EndpointStats: balance.EndpointStats{Drained: o.drained, Weight: o.weight, Configured: 1}}, Available: 3}, nil
}

func (o *operated) DrainEndpoint(cluster, address string, drained bool) (upstream.Change, error) {
	o.drained = drained
	return o.change(cluster, address)
}

func (o *operated) WeighEndpoint(cluster, address string, weight int) (upstream.Change, error) {
	o.weight = weight
	return o.change(cluster, address)
}

func (o *operated) LogLevel() LogLevel { return o.level }

func (o *operated) SetLogLevel(level string, lasts time.Duration) (LogLevel, error) {
	if level != "debug" {
		return LogLevel{}, errors.New("no such level")
	}
	o.level.Level = level + " for " + lasts.String()
	return o.level, nil
}

func (o *operated) Connections(q ConnectionQuery) ConnectionList {
	o.query = q
	return ConnectionList{Open: 5, Matched: 2}
}

func (o *operated) CloseConnection(id string) error {
	if id != "s7" {
		return ErrNoConnection
	}
	o.closed = append(o.closed, id)
	return nil
}

// config returns the configuration of a server for o.
func (o *operated) config() Config {
	return Config{
		Endpoints: o, LogLevels: o, Connections: o, Proxy: func() proxy.Snapshot { return proxy.Snapshot{} },
		Configuration: func() ([]byte, error) { return []byte(`{"drain":{}}`), nil },
	}
}

// TestOperate checks what changes a node, and what wrong requests get.
func TestOperate(t *testing.T) {
	t.Parallel()
	o := &operated{level: LogLevel{Level: "info", Configured: "info"}}
	_, url := start(t, o.config())
	const endpoint = "/api/proxy/clusters/web/endpoints/unix:%2Frun%2Fa.sock/"
	for _, row := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"POST", endpoint + "drain", 200, `"drained":true`},
		{"POST", endpoint + "undrain", 200, `"drained":false`},
		{"POST", endpoint + "weight?value=7", 200, `"weight":7,"configured_weight":1`},
		{"POST", endpoint + "weight?value=7", 200, `"available":3`},
		{"POST", endpoint + "weight", 400, "value: want a number"},
		{"POST", endpoint + "weight?value=x", 400, "value: want a number"},
		{"POST", endpoint + "weight?value=5000", 400, "a weight is 1 to 1000"},
		{"POST", endpoint + "explode", 405, ""},
		{"GET", endpoint + "drain", 404, ""},
		{"POST", "/api/proxy/clusters/x/endpoints/a/drain", 404, "GET /api/proxy lists them"},
		{"POST", "/api/proxy/clusters/web/endpoints/a/drain", 404, "GET /api/proxy lists them"},
		{"GET", "/api/log-level", 200, `{"level":"info","configured":"info"}`},
		{"POST", "/api/log-level?level=debug&for=90s", 200, `"debug for 1m30s"`},
		{"POST", "/api/log-level?level=debug", 200, `"debug for 0s"`},
		{"POST", "/api/log-level?level=loud", 400, "no such level"},
		{"POST", "/api/log-level?level=debug&for=1ms", 400, "for: want a time"},
		{"POST", "/api/log-level?level=debug&for=9000h", 400, "for: want a time"},
		{"GET", "/api/connections?protocol=quic&listener=l&identity=i&limit=3", 200, `{"open":5,"matched":2,"connections":[]}`},
		{"GET", "/api/connections?limit=0", 400, "limit: want 1 to 10000"},
		{"GET", "/api/connections?limit=1000000", 400, "limit: want 1 to 10000"},
		{"POST", "/api/connections/s7/close", 200, `{"closed":"s7"}`},
		{"POST", "/api/connections/s8/close", 404, "no connection s8"},
		{"GET", "/api/config", 200, `{"drain":{}}`},
		{"POST", "/api/profile/block", 400, "seconds: want 1 to 300"},
		{"POST", "/api/profile/mutex?seconds=301", 400, "seconds: want 1 to 300"},
		{"POST", "/api/profile/heap?seconds=1", 405, ""},
		{"GET", "/debug/pprof/profile?seconds=301", 400, "seconds: want 1 to 300"},
		{"GET", "/debug/pprof/heap?seconds=100000", 400, "seconds: want 1 to 300"},
		{"GET", "/debug/pprof/trace?seconds=NaN", 400, "seconds: want 1 to 300"},
		{"GET", "/debug/pprof/trace?seconds=-1", 400, "seconds: want 1 to 300"},
		{"GET", "/debug/pprof/trace?seconds=0.01", 200, "go 1."},
	} {
		if status, body := do(t, row.method, url+row.path); status != row.status || !strings.Contains(body, row.want) {
			t.Errorf("%s %s: %d %q, want %d %q", row.method, row.path, status, body, row.status, row.want)
		}
		if strings.Contains(row.path, "protocol=quic") && o.query != (ConnectionQuery{"quic", "l", "i", 3}) {
			t.Errorf("%s: the query was %+v", row.path, o.query)
		}
	}
	if len(o.closed) != 1 {
		t.Errorf("closed %q, want one", o.closed)
	}
}

// TestOperateNeedsToken checks that the token of the data directory is needed where the server has none, except for lists.
func TestOperateNeedsToken(t *testing.T) {
	t.Parallel()
	o := &operated{}
	cfg := o.config()
	fs := &fakeFunctions{running: map[string]bool{"averages": true}}
	cfg.LocalToken, cfg.Functions = "local-token-local-token", fs
	_, url := start(t, cfg)
	for path, want := range map[string]int{
		"POST /api/proxy/clusters/web/endpoints/a/drain":   http.StatusUnauthorized,
		"POST /api/proxy/clusters/web/endpoints/a/undrain": http.StatusUnauthorized,
		"POST /api/proxy/clusters/web/endpoints/a/weight":  http.StatusUnauthorized,
		"POST /api/log-level":                              http.StatusUnauthorized,
		"POST /api/connections/s7/close":                   http.StatusUnauthorized,
		"POST /api/profile/block":                          http.StatusUnauthorized,
		"POST /api/functions/averages/stop":                http.StatusUnauthorized,
		"POST /api/functions/averages/start":               http.StatusUnauthorized,
		"DELETE /api/anything":                             http.StatusUnauthorized,
		"GET /api/functions":                               http.StatusOK,
		"GET /api/config":                                  http.StatusUnauthorized,
		"GET /api/log-level":                               http.StatusOK,
		"GET /api/connections":                             http.StatusOK,
	} {
		method, path, _ := strings.Cut(path, " ")
		if status, body := do(t, method, url+path); status != want {
			t.Errorf("%s %s: %d %q, want %d", method, path, status, body, want)
		}
	}
	if o.drained || o.weight != 0 || len(o.closed) > 0 || !fs.List()[0].Running {
		t.Errorf("a request without a token has changed something: %+v, functions %v", o, fs.List())
	}
	if status, body := do(t, "POST", url+"/api/functions/averages/stop", "Authorization", "Bearer "+cfg.LocalToken); status != http.StatusOK || fs.List()[0].Running {
		t.Errorf("with the token: %d %q, want that the function is stopped", status, body)
	}
}

// TestSampling checks that a profile of waiting is taken, and one at a time in the process, whatever server is requested.
func TestSampling(t *testing.T) {
	t.Parallel()
	o := &operated{}
	_, url := start(t, o.config())
	status, body := do(t, "POST", url+"/api/profile/mutex?seconds=1")
	if status != http.StatusOK || !strings.HasPrefix(body, "\x1f\x8b") { // gzip
		t.Errorf("%d, %d bytes, want a profile", status, len(body))
	}
	sampling.Lock()
	defer sampling.Unlock()
	if status, body := do(t, "POST", url+"/api/profile/block?seconds=1"); status != http.StatusServiceUnavailable || !strings.Contains(body, "try again") {
		t.Errorf("during another profile: %d %q, want 503", status, body)
	}
}

// lists counts how many lists of connections are made at once.
type lists struct {
	*operated
	now, most atomic.Int32
}

func (l *lists) Connections(ConnectionQuery) ConnectionList {
	l.most.Store(max(l.most.Load(), l.now.Add(1)))
	time.Sleep(time.Millisecond) // for others to come
	l.now.Add(-1)
	return ConnectionList{}
}

// TestOneListOfConnections checks that many requests do not hold the event loops together.
func TestOneListOfConnections(t *testing.T) {
	t.Parallel()
	l := &lists{operated: &operated{}}
	_, url := start(t, Config{Connections: l})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if status, body := do(t, "GET", url+"/api/connections"); status != http.StatusOK {
				t.Errorf("%d %q", status, body)
			}
		})
	}
	group.Wait()
	if most := l.most.Load(); most != 1 {
		t.Errorf("%d lists were made at once, want 1", most)
	}
}
