package route

import (
	"fmt"

	"example.com/ferry/protocol/http1"
)

// Config is the configuration of a routing table.
type Config struct {
	// VirtualHosts are the hosts that requests may name. Their order does not matter, because each host is listed
	// only once.
	VirtualHosts []VirtualHost `yaml:"virtual_hosts,omitempty"`
}

// VirtualHost has the routes of some hosts. A request for one of these hosts is matched against these routes only.
type VirtualHost struct {
	// Hosts are names such as api.example.com, wildcards such as *.example.com, and *. A wildcard matches all names
	// below example.com, but not example.com. If several wildcards match, the longest is used. * matches requests
	// that no other host matches, also those without a host. Case and ports are ignored.
	Hosts []string `yaml:"hosts" schema:"required"`

	// Routes are tried in this order; the first that matches is used.
	Routes []Rule `yaml:"routes,omitempty"`
}

// Rule is the configuration of one route: which requests it matches, and how they are handled. Exactly one of
// Cluster, Clusters, Redirect and Respond is set.
type Rule struct {
	// Name is used in logs and metrics. Empty means its path in the configuration: virtual_hosts[0].routes[2].
	Name string `yaml:"name,omitempty"`

	// Match selects the requests. Empty matches all.
	Match Match `yaml:"match,omitempty"`

	// Path is as-is to forward the paths of requests as clients have sent them. Empty forwards them with escapes of unreserved characters decoded
	// and dot segments removed. A route that rewrites the path forwards the result in any case.
	Path PathMode `yaml:"path,omitempty"`

	// Cluster is the name of the cluster that requests are forwarded to.
	Cluster string `yaml:"cluster,omitempty"`

	// Clusters receive the requests in proportion to their weights.
	Clusters []Weighted `yaml:"clusters,omitempty"`

	// Redirect responds with a redirect to another location.
	Redirect *Redirect `yaml:"redirect,omitempty"`

	// Respond responds with a fixed response. No cluster is used.
	Respond *Response `yaml:"respond,omitempty"`

	// Forward configures edits, timeouts and retries of forwarded requests.
	Forward Forward `yaml:"forward,omitempty"`

	// Compression compresses the responses of the route, instead of what the listener says. Absent means what the listener says.
	Compression *Compression `yaml:"compression,omitempty"`

	// RateLimit bounds the requests per second.
	RateLimit *RateLimit `yaml:"rate_limit,omitempty"`
}

// PathMode says how paths are forwarded.
type PathMode string

// AsIs forwards a path as the client has sent it. Routes match the same readings of it.
const AsIs PathMode = "as-is"

// Check returns what is wrong with m, or an empty string.
func (m PathMode) Check() string {
	if m == "" || m == AsIs {
		return ""
	}
	return fmt.Sprintf("%q: write %s, or leave it out", string(m), AsIs)
}

// Weighted is a cluster and its share of the requests.
type Weighted struct {
	// Cluster is the name of the cluster.
	Cluster string `yaml:"cluster" schema:"required"`

	// Weight is 0 to 1000000. The cluster's share of the requests is Weight divided by the sum of all weights of the
	// route. That sum must be above 0.
	Weight int `yaml:"weight"`
}

// Match is a set of conditions that must all hold. At most one of Path, Prefix, SegmentPrefix and Regex is set. Paths
// are compared without the query, in two readings, as servers read them in one way or the other. In the first, escapes
// of unreserved characters are decoded (%61 is a) and dot segments are removed. In the second, %2f and %5c are slashes
// too, and a run of slashes is one. A request whose route is not the same for both gets 400. A Bolt request has no path,
// query or method. An HTTP request has no Bolt service, method or class. A condition on a part that a request lacks
// does not hold.
type Match struct {
	// Path must equal the whole path.
	Path string `yaml:"path,omitempty"`

	// Prefix is compared with the beginning of the path, byte by byte, as in nginx and Envoy: /api also matches /apis.
	Prefix string `yaml:"prefix,omitempty"`

	// SegmentPrefix is compared in whole segments: /api matches /api, /api/ and /api/v1, not /apis.
	SegmentPrefix string `yaml:"segment_prefix,omitempty"`

	// Regex matches the whole path, in RE2 syntax.
	Regex string `yaml:"regex,omitempty"`

	// Methods are HTTP methods in their exact spelling. Empty matches all.
	Methods []string `yaml:"methods,omitempty"`

	// Headers are conditions on HTTP header fields, or on the pairs of a Bolt header. If a request has several fields of one name, and a condition
	// holds for some of them only, the response is 400: servers use the first, the last or all of them.
	Headers []Header `yaml:"headers,omitempty"`

	// Query are conditions on query parameters. Several of one name are as several header fields.
	Query []Parameter `yaml:"query,omitempty"`

	// Bolt has conditions on the service, method and class of a Bolt request.
	Bolt Bolt `yaml:"bolt,omitempty"`

	// ServerName must equal the server name that the client asked for in TLS (SNI). *.example.com matches all names below
	// example.com. A client without TLS has no server name.
	ServerName string `yaml:"server_name,omitempty"`

	// ClientIdentity must equal the identity in the client's certificate: its first URI, otherwise its first DNS name,
	// otherwise the common name. A star at the end matches any rest: spiffe://prod/*; a star alone matches any
	// identity. A client without a verified certificate has no identity.
	ClientIdentity string `yaml:"client_identity,omitempty"`

	// Payload is a condition on a field of the payload.
	Payload *Payload `yaml:"payload,omitempty"`
}

// Header is a condition on the first header field called Name. At most one of Value, Prefix, Regex and Absent is set.
// If none is set, the field must be present.
type Header struct {
	// Name is the name of the field. Case is ignored in HTTP and significant in Bolt.
	Name string `yaml:"name" schema:"required"`

	// Value must equal the whole value.
	Value string `yaml:"value,omitempty"`

	// Prefix is compared with the beginning of the value.
	Prefix string `yaml:"prefix,omitempty"`

	// Regex matches the whole value, in RE2 syntax.
	Regex string `yaml:"regex,omitempty"`

	// Absent requires that there is no such field.
	Absent bool `yaml:"absent,omitempty"`
}

// Parameter is a condition on the first query parameter called Name. Names and values are decoded before they are
// compared: + is a space, and %41 is A. A percent sign without two hexadecimal digits stands for itself.
type Parameter struct {
	// Name is the parameter's name.
	Name string `yaml:"name" schema:"required"`

	// Value is the value of the parameter. Empty matches every value.
	Value string `yaml:"value,omitempty"`
}

// Bolt has conditions on the service, method and class of a Bolt request. An empty condition matches every request.
type Bolt struct {
	// Service is the interface with its version: com.example.Echo:1.0.
	Service string `yaml:"service,omitempty"`

	// Method is the method of the service.
	Method string `yaml:"method,omitempty"`

	// Class is the class of the request. Plain SOFABolt requests have no service or method, only a class.
	Class string `yaml:"class,omitempty"`
}

// Payload is a condition on the first 64 KiB of the payload. It is evaluated as soon as the bytes that it needs have
// arrived. It does not hold if 64 KiB are not enough to evaluate it, or if the payload is not valid in the format. A
// compressed payload is never valid.
type Payload struct {
	// Format is the format of the payload: json, cbor, y3, y3n, bson, msgpack or protobuf.
	Format string `yaml:"format" schema:"required"`

	// Where is the predicate: deviceName == "pump-1" && readings.0.value > 30.
	Where string `yaml:"where" schema:"required"`
}

// Redirect responds with a Location. The Location is that of the request, except for the parts that are set here.
type Redirect struct {
	// Status is 301, 302, 303, 307 or 308. Zero means 301.
	Status int `yaml:"status,omitempty"`

	// Scheme is http or https. If it is set, the port of the request is dropped, because that port belongs to the
	// other scheme.
	Scheme string `yaml:"scheme,omitempty"`

	// Host is host or host:port.
	Host string `yaml:"host,omitempty"`

	// Port is the port of the Location. Its host is Host, or that of the request.
	Port int `yaml:"port,omitempty"`

	// Path replaces the whole path.
	Path string `yaml:"path,omitempty"`

	// Prefix replaces the part of the path that the route's Path, Prefix or SegmentPrefix matches.
	Prefix string `yaml:"prefix,omitempty"`

	// StripQuery drops the query.
	StripQuery bool `yaml:"strip_query,omitempty"`
}

// Response is a fixed response of the proxy.
type Response struct {
	// Status is 200 to 599.
	Status int `yaml:"status" schema:"required"`

	// Headers are the header fields of the response. Fields that frame the body are not allowed.
	Headers []http1.Pair `yaml:"headers,omitempty"`

	// Body is the content of the response.
	Body string `yaml:"body,omitempty"`
}
