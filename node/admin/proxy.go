package admin

import (
	"math"
	"net/http"
	"time"

	"example.com/ferry/proxy"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// ProxyState is the response to GET /api/proxy. Counters count from the start of the proxy; those of a part that a reload
// replaced start at zero. Times are seconds. The names of fields are stable; fields may be added.
type ProxyState struct {
	Now       float64         `json:"now"` // since the proxy began
	Listeners []ProxyListener `json:"listeners"`
	Routes    []ProxyRoute    `json:"routes"`
	Clusters  []ProxyCluster  `json:"clusters"`
}

// ProxyListener is a listener of the proxy.
type ProxyListener struct {
	Name        string            `json:"name"`
	Protocol    string            `json:"protocol"` // http1, http2, http or bolt
	Address     string            `json:"address"`
	Connections int               `json:"connections"` // open now
	Accepted    uint64            `json:"accepted"`
	Refused     map[string]uint64 `json:"refused"` // requests that were not forwarded, by reason; each reason is present

	// RefusedConnections are connections that were closed when they were accepted, by reason.
	RefusedConnections map[string]uint64 `json:"refused_connections"`
}

// ProxyRoute is a route of a listener.
type ProxyRoute struct {
	Listener string            `json:"listener"`
	Name     string            `json:"name"`
	Requests map[string]uint64 `json:"requests"` // by status code of the response, as 2xx
	Failed   uint64            `json:"failed"`   // requests that failed, at the endpoint or in the proxy
	In       uint64            `json:"in"`       // bytes of requests
	Out      uint64            `json:"out"`      // bytes of responses
	Retries  uint64            `json:"retries"`
	Took     Histogram         `json:"took"`
}

// ProxyCluster is a cluster with its endpoints.
type ProxyCluster struct {
	Name          string           `json:"name"`
	Active        int64            `json:"active"`  // requests in flight
	Waiting       int64            `json:"waiting"` // requests that wait for a connection
	Refused       map[string]int64 `json:"refused"` // by limit
	LookupsFailed int64            `json:"lookups_failed"`
	LookupError   string           `json:"lookup_error,omitempty"` // why names are not found now: those known before are in use
	ChecksFailed  int64            `json:"checks_failed"`
	Endpoints     []ProxyEndpoint  `json:"endpoints"`
}

// ProxyEndpoint is an endpoint of a cluster.
type ProxyEndpoint struct {
	Address     string           `json:"address"`
	Weight      int              `json:"weight"`
	Configured  int              `json:"configured_weight"`     // without ferry admin endpoint weight
	Drained     bool             `json:"drained"`               // by ferry admin endpoint drain
	Healthy     bool             `json:"healthy"`               // as health checks say; true if there are none
	EjectedFor  float64          `json:"ejected_for,omitempty"` // seconds left; left out if it is in use
	Active      int64            `json:"active"`
	Connections int64            `json:"connections"`
	Requests    map[string]int64 `json:"requests"` // attempts, by outcome
	Failed      int64            `json:"failed"`   // attempts that the endpoint or the connection to it failed
	Ejections   int64            `json:"ejections"`
	Downs       int64            `json:"downs"` // times that health checks found it down while it was up

	// LastError is that of the last health check that failed if the endpoint is down, of the last request if it is ejected, otherwise the later
	// one. LastErrorAgo is how long ago that was, in seconds.
	LastError    string  `json:"last_error,omitempty"`
	LastErrorAgo float64 `json:"last_error_ago,omitempty"`
}

// proxyHandler serves the state of the proxy as JSON.
func proxyHandler(snapshot func() proxy.Snapshot) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		s := snapshot()
		state := ProxyState{
			Now:       millis(s.Now),
			Listeners: listenersOf(s),
			Routes:    []ProxyRoute{},
			Clusters:  []ProxyCluster{},
		}
		for _, l := range s.Bound {
			for _, r := range s.Traffic.Routes {
				if r.Listener == l.Listener {
					state.Routes = append(state.Routes, routeOf(r))
				}
			}
		}
		for _, c := range s.Clusters {
			state.Clusters = append(state.Clusters, clusterOf(c, s.Now))
		}
		writeJSON(w, state)
	}
}

// listenersOf returns the listeners in the order of the configuration.
func listenersOf(s proxy.Snapshot) []ProxyListener {
	counted := map[string]traffic.ListenerStats{}
	for _, l := range s.Traffic.Listeners {
		counted[l.Name] = l
	}
	all := []ProxyListener{}
	for _, b := range s.Bound {
		l := counted[b.Listener]
		one := ProxyListener{
			Name: b.Listener, Protocol: string(b.Protocol), Address: b.Address,
			Connections: l.Connections, Accepted: l.Accepted, Refused: map[string]uint64{}, RefusedConnections: map[string]uint64{},
		}
		for why, n := range l.Refused {
			one.Refused[why.String()] = n
		}
		for why, n := range l.RefusedConnections {
			one.RefusedConnections[why.String()] = n
		}
		all = append(all, one)
	}
	return all
}

func routeOf(r traffic.RouteStats) ProxyRoute {
	one := ProxyRoute{
		Listener: r.Listener, Name: r.Name, Requests: map[string]uint64{}, In: r.In, Out: r.Out, Retries: r.Retries,
		Took: tookOf(r.Took),
	}
	for code, n := range r.Requests {
		one.Requests[code.String()] = n
		if code.Failed() {
			one.Failed += n
		}
	}
	return one
}

func tookOf(h traffic.Histogram) Histogram {
	took := Histogram{Count: h.Count, Sum: h.Seconds, Buckets: make([]Bucket, len(h.Buckets))}
	for i, b := range h.Buckets {
		took.Buckets[i] = Bucket{b.UpTo.Seconds(), b.Count}
	}
	return took
}

func clusterOf(c upstream.Stats, now time.Duration) ProxyCluster {
	all := ProxyCluster{
		Name: c.Name, Active: c.Active, Waiting: c.Waiting, LookupsFailed: c.LookupsFailed, ChecksFailed: c.ChecksFailed,
		Refused: map[string]int64{
			"requests": c.RefusedRequests, "connections": c.RefusedConnections, "waiting": c.RefusedWaiting,
		},
		Endpoints: []ProxyEndpoint{},
	}
	if c.LookupErr != nil {
		all.LookupError = c.LookupErr.Error()
	}
	for _, e := range c.Endpoints {
		all.Endpoints = append(all.Endpoints, endpointOf(e, now))
	}
	return all
}

func endpointOf(e upstream.EndpointStats, now time.Duration) ProxyEndpoint {
	one := ProxyEndpoint{
		Address: e.Address, Weight: e.Weight, Configured: e.Configured, Drained: e.Drained, Healthy: e.Healthy, Active: e.Active, Connections: e.Conns,
		Requests: map[string]int64{}, Ejections: e.Ejections, Downs: e.Downs,
	}
	if e.Ejected > now {
		one.EjectedFor = millis(e.Ejected - now)
	}
	if e.LastErr != nil {
		one.LastError, one.LastErrorAgo = e.LastErr.Error(), millis(max(now-e.LastErrAt, 0))
	}
	for i, n := range e.Outcomes {
		o := upstream.Outcome(i)
		one.Requests[o.String()] = n
		if o != upstream.Success && o != upstream.Canceled && o != upstream.Rejected {
			one.Failed += n
		}
	}
	return one
}

// millis is d in seconds, to the next millisecond.
func millis(d time.Duration) float64 { return math.Ceil(d.Seconds()*1000) / 1000 }
