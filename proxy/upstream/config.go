package upstream

import "time"

// Config configures one cluster: a set of equivalent endpoints, and how they are used.
type Config struct {
	// Name is the name that routes refer to.
	Name string `yaml:"name" schema:"required"`

	// Protocol is the protocol of the endpoints: http1 or bolt. Empty means the protocol of the listeners whose routes lead here. A
	// cluster of listeners with different protocols must name its own.
	Protocol Protocol `yaml:"protocol,omitempty"`

	// Endpoints are the addresses of the cluster.
	Endpoints []EndpointConfig `yaml:"endpoints" schema:"required"`

	// Balance is the load-balancing policy. Empty means least-request.
	Balance Balance `yaml:"balance,omitempty"`

	// ConnectTimeout bounds the time to connect. Zero means 1 s.
	ConnectTimeout time.Duration `yaml:"connect_timeout,omitempty"`

	// IdleTimeout closes a connection unused for this long. Zero means 60 s; negative means never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// Connections bounds the connections that one loop opens to each endpoint and shares among requests, in protocols that
	// multiplex (bolt). Another one is opened when all of them have Streams requests in flight. Zero means 4.
	Connections int `yaml:"connections,omitempty" schema:"min=0"`

	// Streams is the number of requests in flight on a shared connection above which another one is opened. Zero means 128.
	Streams int `yaml:"streams,omitempty" schema:"min=0"`

	// Heartbeat is the idle time after which a heartbeat is sent on a shared connection. Three heartbeats without a response close
	// it. Zero means 15 s; negative means never.
	Heartbeat time.Duration `yaml:"heartbeat,omitempty"`

	// ResolveInterval is the time between two lookups of an endpoint's name. Zero means 30 s.
	ResolveInterval time.Duration `yaml:"resolve_interval,omitempty"`

	// Limits bound connections and requests of the cluster. Requests above them are refused at once.
	Limits Limits `yaml:"limits,omitempty"`

	// Health configures active health checks. Absent means that all endpoints count as healthy.
	Health *Health `yaml:"health,omitempty"`

	// Outlier configures ejection: an endpoint that keeps failing gets no requests for a while. Absent means no ejection.
	Outlier *Outlier `yaml:"outlier,omitempty"`
}

// EndpointConfig is one endpoint, or one for each address of a name.
type EndpointConfig struct {
	// Address is HOST:PORT, or unix: and a path. A host name gives one endpoint for each of its addresses.
	Address string `yaml:"address" schema:"required"`

	// Weight is 1 to 1000. Requests are distributed in proportion to the weights. Each address of a name has this weight. Zero means 1.
	Weight int `yaml:"weight,omitempty" schema:"min=0"`
}

// Balance is a load-balancing policy.
type Balance string

// The values of Balance.
const (
	LeastRequest Balance = "least-request" // of two random endpoints, the one with fewer active requests
	RoundRobin   Balance = "round-robin"   // in turn
	EWMA         Balance = "ewma"          // of two random endpoints, the one with less latency times active requests
)

// Limits are a cluster's circuit breaker. They count over all loops.
type Limits struct {
	// Connections bounds the connections to each endpoint. Zero means 10000.
	Connections int `yaml:"connections,omitempty" schema:"min=0"`

	// Requests bounds the active requests. Zero means 100000.
	Requests int `yaml:"requests,omitempty" schema:"min=0"`

	// Waiting bounds the requests that wait for a connection. Zero means 10000.
	Waiting int `yaml:"waiting,omitempty" schema:"min=0"`
}

// Health configures active health checks.
type Health struct {
	// Kind is the kind of check: a connection (tcp), a GET (http), or a heartbeat (bolt).
	Kind HealthKind `yaml:"kind" schema:"required"`

	// Path is the path of the GET. Empty means /.
	Path string `yaml:"path,omitempty"`

	// Host is the Host field of the GET. Empty means the endpoint's address.
	Host string `yaml:"host,omitempty"`

	// Statuses are the statuses of a healthy endpoint. Empty means all of 2xx.
	Statuses []int `yaml:"statuses,omitempty"`

	// Interval is the time between two checks of an endpoint. Zero means 5 s.
	Interval time.Duration `yaml:"interval,omitempty"`

	// Timeout bounds a check. Zero means 1 s.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Unhealthy is the number of failed checks in a row after which an endpoint is down. Zero means 3.
	Unhealthy int `yaml:"unhealthy,omitempty" schema:"min=0"`

	// Healthy is the number of successful checks in a row after which it is up again. Zero means 2.
	Healthy int `yaml:"healthy,omitempty" schema:"min=0"`
}

// HealthKind is the kind of a health check.
type HealthKind string

// The values of Check.
const (
	HealthTCP  HealthKind = "tcp"
	HealthHTTP HealthKind = "http"
	HealthBolt HealthKind = "bolt"
)

// Outlier configures ejection by the outcomes of requests.
type Outlier struct {
	// Failures is the number of failures in a row that eject an endpoint: connections refused or reset, timeouts, statuses 5xx. Zero
	// means 5.
	Failures int `yaml:"failures,omitempty" schema:"min=0"`

	// EjectionTime is the duration of the first ejection. The n-th ejection in a row lasts n times as long. Zero means 30 s.
	EjectionTime time.Duration `yaml:"ejection_time,omitempty"`

	// MaxEjected bounds the ejected endpoints, in percent of all: 1 to 100. Zero means 50.
	MaxEjected int `yaml:"max_ejected,omitempty" schema:"min=0"`
}

// Protocol is the protocol of a connection.
type Protocol string

// The values of Protocol.
const (
	HTTP1 Protocol = "http1"
	Bolt  Protocol = "bolt"
)

// Protocols are the values of Protocol.
var Protocols = [...]Protocol{HTTP1, Bolt}

// index is the protocol's place in Protocols, -1 if it is none of them.
func (p Protocol) index() int {
	switch p {
	case HTTP1:
		return 0
	case Bolt:
		return 1
	}
	return -1
}
