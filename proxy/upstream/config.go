package upstream

import "time"

// Config is one cluster: servers that do the same, and how they are used.
type Config struct {
	// Name is what routes call it.
	Name string `yaml:"name" schema:"required"`

	// Endpoints are its servers.
	Endpoints []Server `yaml:"endpoints" schema:"required"`

	// Balance says which of them gets a request. Empty means least-request.
	Balance Balance `yaml:"balance,omitempty"`

	// ConnectTimeout bounds the time to connect. Zero means 1 s.
	ConnectTimeout time.Duration `yaml:"connect_timeout,omitempty"`

	// IdleTimeout closes a connection unused for this long. Zero means 60 s; negative means never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// Connections bounds the connections to each endpoint that one loop shares among requests, of protocols that can (bolt).
	// A second one is opened when Streams requests are in flight on each there is. Zero means 4.
	Connections int `yaml:"connections,omitempty" schema:"min=0"`

	// Streams is how many requests in flight a shared connection has before another one is opened. Zero means 128.
	Streams int `yaml:"streams,omitempty" schema:"min=0"`

	// Heartbeat is the pause after which an idle shared connection is asked for a sign of life; three missed ones close it.
	// Zero means 15 s; negative means never.
	Heartbeat time.Duration `yaml:"heartbeat,omitempty"`

	// ResolveInterval is how often names among the endpoints are looked up again. Zero means 30 s.
	ResolveInterval time.Duration `yaml:"resolve_interval,omitempty"`

	// Limits bound what the cluster is burdened with: what goes beyond is refused at once.
	Limits Limits `yaml:"limits,omitempty"`

	// Health asks the endpoints whether they are well. None means that they are believed to be.
	Health *Health `yaml:"health,omitempty"`

	// Outlier takes out of use for a while whichever endpoint keeps failing. None means none.
	Outlier *Outlier `yaml:"outlier,omitempty"`
}

// Server is one endpoint, or as many as its name has addresses.
type Server struct {
	// Address is HOST:PORT, or unix: and a path. A name stands for all its addresses.
	Address string `yaml:"address" schema:"required"`

	// Weight is its share of the requests beside the others': 1 to 1000. Each address of a name has it. Zero means 1.
	Weight int `yaml:"weight,omitempty" schema:"min=0"`
}

// Balance says which endpoint gets a request.
type Balance string

// The values of Balance.
const (
	LeastRequest Balance = "least-request" // of two chosen at random, the one with fewer requests in flight
	RoundRobin   Balance = "round-robin"   // one after the other
	EWMA         Balance = "ewma"          // of two chosen at random, the one with less latency times requests in flight
)

// Limits is a cluster's circuit breaker. Requests and retries are counted over all loops.
type Limits struct {
	// Connections bounds the connections to each endpoint. Zero means 10000.
	Connections int `yaml:"connections,omitempty" schema:"min=0"`

	// Requests bounds the requests in flight. Zero means 100000.
	Requests int `yaml:"requests,omitempty" schema:"min=0"`

	// Waiting bounds the requests that wait for a connection. Zero means 10000.
	Waiting int `yaml:"waiting,omitempty" schema:"min=0"`
}

// Health is an active check.
type Health struct {
	// Kind is how to ask: by connecting (tcp), by a GET (http), by a heartbeat (bolt).
	Kind Check `yaml:"kind" schema:"required"`

	// Path is what to GET. Empty means /.
	Path string `yaml:"path,omitempty"`

	// Host is the Host field of the GET. Empty means the endpoint's address.
	Host string `yaml:"host,omitempty"`

	// Statuses are those of a well endpoint. Empty means all of 2xx.
	Statuses []int `yaml:"statuses,omitempty"`

	// Interval is the pause between two checks of an endpoint. Zero means 5 s.
	Interval time.Duration `yaml:"interval,omitempty"`

	// Timeout bounds a check. Zero means 1 s.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Unhealthy is how many checks in a row must fail before the endpoint is not used. Zero means 3.
	Unhealthy int `yaml:"unhealthy,omitempty" schema:"min=0"`

	// Healthy is how many must succeed before it is used again. Zero means 2.
	Healthy int `yaml:"healthy,omitempty" schema:"min=0"`
}

// Check is a kind of health check.
type Check string

// The values of Check.
const (
	CheckTCP  Check = "tcp"
	CheckHTTP Check = "http"
	CheckBolt Check = "bolt"
)

// Outlier is the passive check: requests tell.
type Outlier struct {
	// Failures in a row take an endpoint out of use: connections refused or reset, timeouts, statuses 5xx. Zero means 5.
	Failures int `yaml:"failures,omitempty" schema:"min=0"`

	// EjectionTime is for how long, the first time; the n-th time in a row it is n times that. Zero means 30 s.
	EjectionTime time.Duration `yaml:"ejection_time,omitempty"`

	// MaxEjected is how many percent of the endpoints may be out of use: 1 to 100. Zero means 50.
	MaxEjected int `yaml:"max_ejected,omitempty" schema:"min=0"`
}
