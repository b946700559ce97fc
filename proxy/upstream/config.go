package upstream

import (
	"slices"
	"time"

	"example.com/ferry/internal/balance"
)

// Config configures one cluster: a set of equivalent endpoints, and how they are used.
type Config struct {
	// Name is the name that routes refer to.
	Name string `yaml:"name" schema:"required"`

	// Protocol is the protocol of the endpoints: http1, http2, bolt, or auto. With auto, the server chooses HTTP/2 or
	// HTTP/1.1 in TLS (ALPN); without tls, auto is http1. Empty means bolt if the listeners whose routes name the cluster
	// speak Bolt, else http1.
	Protocol Protocol `yaml:"protocol,omitempty"`

	// Endpoints are the addresses of the cluster.
	Endpoints []EndpointConfig `yaml:"endpoints" schema:"required"`

	// TLS configures TLS to the endpoints. Absent means cleartext.
	TLS *TLS `yaml:"tls,omitempty"`

	// Balance is the load-balancing policy. Empty means least-request.
	Balance Balance `yaml:"balance,omitempty"`

	// ConnectTimeout bounds the time to connect. Zero means 1 s.
	ConnectTimeout time.Duration `yaml:"connect_timeout,omitempty"`

	// IdleTimeout closes a connection unused for this long. Zero means 60 s; negative means never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// Connections is the number of connections that one loop opens to each endpoint and shares among requests. It
	// applies to protocols that multiplex (http2, bolt). A further connection is opened when all others have Streams
	// requests in flight. Zero means 4.
	Connections int `yaml:"connections,omitempty" schema:"min=0"`

	// Streams is the number of requests in flight on a shared connection above which a further connection is opened.
	// Zero means 128.
	Streams int `yaml:"streams,omitempty" schema:"min=0"`

	// Heartbeat is the idle time after which a heartbeat is sent on a shared connection. After three heartbeats
	// without a response the connection is closed. Zero means 15 s; negative means never.
	Heartbeat time.Duration `yaml:"heartbeat,omitempty"`

	// ResolveInterval is the longest time between two lookups of a name. Records with a shorter TTL are looked up when it ends,
	// but not within a second. Zero means 30 s.
	ResolveInterval time.Duration `yaml:"resolve_interval,omitempty"`

	// Limits bound the connections and requests of the cluster. Requests above the limits are refused immediately.
	Limits Limits `yaml:"limits,omitempty"`

	// Health configures active health checks. Absent means that all endpoints count as healthy.
	Health *Health `yaml:"health,omitempty"`

	// Outlier configures ejection: an endpoint that fails repeatedly gets no requests for a while. Absent means no
	// ejection.
	Outlier *Outlier `yaml:"outlier,omitempty"`
}

// EndpointConfig says where endpoints are found: it has an address, SRV records or a file.
type EndpointConfig struct {
	// Address is HOST:PORT, or unix: followed by a path. A host name stands for one endpoint for each of its
	// addresses.
	Address string `yaml:"address,omitempty"`

	// SRV is the name of SRV records in DNS, such as _http._tcp.example.com, instead of an address. Each record names hosts, whose
	// addresses are endpoints with the record's port and weight. Endpoints get requests only while none of a lower priority
	// number is up. With tls, the servers' certificates must have the name of the domain: example.com.
	SRV string `yaml:"srv,omitempty"`

	// File is a file that lists endpoints, instead of an address: in each line IP:PORT, or unix: followed by a path, and after a
	// space the weight; or a YAML list of addresses, or of mappings with address and weight. A changed file is used within a few
	// seconds. If it is invalid, the endpoints stay as they were.
	File string `yaml:"file,omitempty"`

	// Weight is 1 to 1000. Requests are distributed in proportion to the weights. Each address of a name has this weight. SRV
	// records and files have weights of their own. Zero means 1.
	Weight int `yaml:"weight,omitempty" schema:"min=0"`
}

// Balance is a load-balancing policy.
type Balance = balance.Policy

// The values of Balance.
const (
	LeastRequest = balance.LeastRequest // the one of two random endpoints that has fewer active requests
	RoundRobin   = balance.RoundRobin   // each endpoint in turn
	EWMA         = balance.EWMA         // the one of two random endpoints with the smaller product of latency and active requests
)

// Limits are the circuit breaker of a cluster. All loops are counted together.
type Limits = balance.Limits

// Health configures active health checks.
type Health struct {
	// Kind is the kind of check: tcp opens a connection, http sends a GET in the cluster's protocol, bolt sends a
	// heartbeat, and grpc calls grpc.health.v1.Health/Check over HTTP/2. If the cluster has tls, the check uses it.
	Kind HealthKind `yaml:"kind" schema:"required"`

	// Path is the path of the GET request. Empty means /.
	Path string `yaml:"path,omitempty"`

	// Host is the Host field of the GET request. Empty means the endpoint's address, or with tls the name that the
	// endpoint's certificate must have.
	Host string `yaml:"host,omitempty"`

	// Statuses are the response statuses of a healthy endpoint. Empty means all of 2xx.
	Statuses []int `yaml:"statuses,omitempty"`

	// Service is the name of the gRPC service that must be serving. Empty asks for the server as a whole.
	Service string `yaml:"service,omitempty"`

	// Interval is the time between two checks of an endpoint. Zero means 5 s.
	Interval time.Duration `yaml:"interval,omitempty"`

	// Timeout bounds a check. Zero means 1 s.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Unhealthy is the number of failed checks in a row after which an endpoint is down. Zero means 3.
	Unhealthy int `yaml:"unhealthy,omitempty" schema:"min=0"`

	// Healthy is the number of successful checks in a row after which an endpoint that is down is up again. Zero
	// means 2.
	Healthy int `yaml:"healthy,omitempty" schema:"min=0"`
}

// HealthKind is the kind of a health check.
type HealthKind string

// The values of HealthKind.
const (
	HealthTCP  HealthKind = "tcp"
	HealthHTTP HealthKind = "http"
	HealthBolt HealthKind = "bolt"
	HealthGRPC HealthKind = "grpc"
)

// Outlier configures the ejection of endpoints whose requests fail.
type Outlier = balance.Outlier

// Protocol is the protocol of a connection.
type Protocol string

// The values of Protocol.
const (
	HTTP1 Protocol = "http1"
	Bolt  Protocol = "bolt"
	HTTP2 Protocol = "http2"
	Auto  Protocol = "auto" // HTTP/2 or HTTP/1.1, as the server chooses in TLS (ALPN); of clusters only
)

// Protocols lists the values of Protocol.
var Protocols = [...]Protocol{HTTP1, Bolt, HTTP2, Auto}

// index returns the index of the protocol in Protocols, or -1.
func (p Protocol) index() int { return slices.Index(Protocols[:], p) }
