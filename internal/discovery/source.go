package discovery

import "context"

// Endpoint is one address of a service.
type Endpoint struct {
	// Addr is where to connect: IP:PORT, or unix: and a path.
	Addr string

	// Name is the host name of the service, by which a server's certificate is verified. It comes from the configuration, never
	// from the network. It is empty if the configuration names an address.
	Name string

	// Weight is the share of the requests, in proportion to the weights of the others: at least 1.
	Weight int

	// Priority is the order of preference: an endpoint gets requests only while none of a lower number is available.
	Priority int
}

// Source finds the endpoints of a service.
type Source interface {
	// Next returns all endpoints. The first call returns as soon as they are known. A later call returns when they have changed,
	// when finding them has failed, or when finding them works again after a failure. After a failure the next call waits
	// before it tries again. With an error, the list has those endpoints that could be found; if it is nil, the endpoints of
	// the call before stay valid. Next returns the error of ctx when ctx ends, and may be called again then. One goroutine
	// at a time calls Next. The caller must not change the list.
	Next(ctx context.Context) ([]Endpoint, error)

	// String names the source in logs, as the configuration does: api.example:80.
	String() string
}
