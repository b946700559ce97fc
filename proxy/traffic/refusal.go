package traffic

// Refusal is the reason why a request is not forwarded, or not to its end. The zero value means that it is forwarded.
type Refusal uint8

// The reasons.
const (
	Forwarded         Refusal = iota
	BadRequest                // the request is malformed, ambiguous or above a limit, or its connection is not what the listener's TLS demands
	NoRoute                   // no route matches
	RateLimited               // the route's rate limit is reached
	NoEndpoint                // no endpoint of the cluster is up
	Overload                  // a limit of the cluster or of the listener is reached
	ClientRateLimited         // the listener's rate limit for one client is reached
	Shed                      // the overload manager refuses requests
	SlowClient                // the client did not send its request, or read its response, in time
	TooLong                   // the request took longer than max_duration
	refusals
)

// String returns the value of the metrics label reason.
func (r Refusal) String() string {
	return [refusals]string{
		"forwarded", "bad_request", "no_route", "rate_limited", "no_endpoint", "overload", "client_rate_limited", "shed", "slow_client", "max_duration",
	}[r]
}

// ConnRefusal is the reason why a connection was closed when it was accepted.
type ConnRefusal uint8

// The reasons.
const (
	ConnectionLimit ConnRefusal = iota // the listener has its largest number of connections
	AddressLimit                       // the client's address has its largest number of connections
	ConnectionShed                     // the overload manager refuses connections
	connRefusals
)

// String returns the value of the metrics label reason.
func (r ConnRefusal) String() string {
	return [connRefusals]string{"connections", "connections_per_address", "shed"}[r]
}
