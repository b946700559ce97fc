package route

import "example.com/ferry/protocol/http1"

// Config is a routing table as it is written.
type Config struct {
	// VirtualHosts are the hosts requests may be for. Their order does not matter: a host stands in one of them only.
	VirtualHosts []VirtualHost `yaml:"virtual_hosts,omitempty"`
}

// VirtualHost is the routes of some hosts. A request whose host it has finds its route here or nowhere.
type VirtualHost struct {
	// Hosts are names such as api.example.com, *.example.com for all names below example.com (not for that itself; the
	// longest one that fits counts), and * for requests that nothing else fits, also those without a host. Letters match
	// in either case; ports are ignored.
	Hosts []string `yaml:"hosts" schema:"required"`

	// Routes are tried in this order; the first that matches is taken.
	Routes []Rule `yaml:"routes,omitempty"`
}

// Rule is one route as it is written: which requests it takes, and what becomes of them. It has one of Cluster, Clusters,
// Redirect and Respond.
type Rule struct {
	// Name stands in logs and metrics. Empty means its place: virtual_hosts[0].routes[2].
	Name string `yaml:"name,omitempty"`

	// Match says which requests it takes. Empty means all.
	Match Match `yaml:"match,omitempty"`

	// Cluster forwards to the cluster of that name.
	Cluster string `yaml:"cluster,omitempty"`

	// Clusters share the requests by weight.
	Clusters []Weighted `yaml:"clusters,omitempty"`

	// Redirect answers with another place to ask.
	Redirect *Redirect `yaml:"redirect,omitempty"`

	// Respond answers at once.
	Respond *Response `yaml:"respond,omitempty"`

	// Forward says how requests change on their way to a cluster, and how long they may take.
	Forward Forward `yaml:"forward,omitempty"`

	// RateLimit bounds the requests the route takes in a second.
	RateLimit *RateLimit `yaml:"rate_limit,omitempty"`
}

// Weighted is a cluster's share.
type Weighted struct {
	// Cluster is its name.
	Cluster string `yaml:"cluster" schema:"required"`

	// Weight is its share of the sum of all weights of the route: 0 to 1000000. That sum is not 0.
	Weight int `yaml:"weight"`
}

// Match is conditions that must all hold; of Path, Prefix, SegmentPrefix and Regex there is at most one. Paths are compared
// as they were sent, without their query: nothing is decoded, and dots are not resolved. A request of Bolt has no path,
// query or method, one of HTTP nothing that Bolt asks for; what is asked of a thing that a request lacks does not hold.
type Match struct {
	// Path is the whole path.
	Path string `yaml:"path,omitempty"`

	// Prefix is what the path begins with, byte by byte, as in nginx and Envoy: /api also takes /apis.
	Prefix string `yaml:"prefix,omitempty"`

	// SegmentPrefix is what the path begins with in whole segments: /api takes /api, /api/ and /api/v1, not /apis.
	SegmentPrefix string `yaml:"segment_prefix,omitempty"`

	// Regex matches the whole path, in RE2's syntax.
	Regex string `yaml:"regex,omitempty"`

	// Methods are those of HTTP it takes, in their exact spelling. Empty means all.
	Methods []string `yaml:"methods,omitempty"`

	// Headers are conditions on header fields, or on the pairs of a Bolt header.
	Headers []Header `yaml:"headers,omitempty"`

	// Query are conditions on query parameters.
	Query []Parameter `yaml:"query,omitempty"`

	// Bolt is conditions on what a Bolt request calls.
	Bolt Bolt `yaml:"bolt,omitempty"`

	// Payload is a condition on a field of the payload.
	Payload *Payload `yaml:"payload,omitempty"`
}

// Header is a condition on the first header field of a name. Without Value, Prefix, Regex and Absent the field has to be
// there; at most one of them is given.
type Header struct {
	// Name is the field's name; letters match in either case, in Bolt in their own.
	Name string `yaml:"name" schema:"required"`

	// Value is the whole value.
	Value string `yaml:"value,omitempty"`

	// Prefix is what the value begins with.
	Prefix string `yaml:"prefix,omitempty"`

	// Regex matches the whole value, in RE2's syntax.
	Regex string `yaml:"regex,omitempty"`

	// Absent means that there is no such field.
	Absent bool `yaml:"absent,omitempty"`
}

// Parameter is a condition on the first query parameter of a name. Names and values are compared decoded: + is a space,
// and %41 is A; a percent sign that nothing to decode follows stands for itself.
type Parameter struct {
	// Name is the parameter's name.
	Name string `yaml:"name" schema:"required"`

	// Value is its value. Empty means that the parameter is there, whatever its value.
	Value string `yaml:"value,omitempty"`
}

// Bolt is conditions on what a Bolt request calls. Empty ones take anything.
type Bolt struct {
	// Service is the interface with its version: com.example.Echo:1.0.
	Service string `yaml:"service,omitempty"`

	// Method is the method of the service.
	Method string `yaml:"method,omitempty"`

	// Class is the class of the request, by which plain SOFABolt names what it calls.
	Class string `yaml:"class,omitempty"`
}

// Payload is a condition on the payload's first 64 KiB. It is decided as soon as they tell; what they do not decide, and
// what is not of the format (compressed payloads are of none), does not match.
type Payload struct {
	// Format is how to read the payload: json, cbor, y3, y3n, bson, msgpack or protobuf.
	Format string `yaml:"format" schema:"required"`

	// Where is the predicate: deviceName == "pump-1" && readings.0.value > 30.
	Where string `yaml:"where" schema:"required"`
}

// Redirect answers with a Location: the request's own but for what is given here.
type Redirect struct {
	// Status is 301, 302, 303, 307 or 308. Zero means 301.
	Status int `yaml:"status,omitempty"`

	// Scheme is http or https. The request's port, which is of another scheme, is dropped.
	Scheme string `yaml:"scheme,omitempty"`

	// Host is host or host:port.
	Host string `yaml:"host,omitempty"`

	// Path replaces the whole path.
	Path string `yaml:"path,omitempty"`

	// Prefix replaces what the route's Path, Prefix or SegmentPrefix has matched.
	Prefix string `yaml:"prefix,omitempty"`

	// StripQuery drops the query.
	StripQuery bool `yaml:"strip_query,omitempty"`
}

// Response is an answer of the proxy's own.
type Response struct {
	// Status is 200 to 599.
	Status int `yaml:"status" schema:"required"`

	// Headers are its fields, beside those that frame it.
	Headers []http1.Pair `yaml:"headers,omitempty"`

	// Body is its content.
	Body string `yaml:"body,omitempty"`
}
