package traffic

// Reason says why a request was not served, or not to its end. The zero value means that it was.
type Reason uint8

// The reasons.
const (
	NoReason            Reason = iota
	ReasonBadRequest           // the request is malformed, ambiguous or above a limit
	ReasonNoRoute              // no route matches
	ReasonRateLimit            // the route's rate limit is reached
	ReasonNoEndpoint           // no endpoint of the cluster is up
	ReasonOverload             // a limit of the cluster or of the listener is reached
	ReasonClientRate           // the listener's rate limit for one client is reached
	ReasonShed                 // the overload manager refuses requests
	ReasonSlowClient           // the client did not send its request, or read its response, in time
	ReasonTooLong              // the request took longer than max_duration
	ReasonRefused              // the endpoint refused the connection
	ReasonUnreachable          // there is no way to the endpoint
	ReasonConnectTime          // the connection was not open in time
	ReasonTLS                  // the TLS handshake with the endpoint failed
	ReasonLocal                // this machine lacked a resource to connect
	ReasonReset                // the endpoint ended the connection or the stream before its response
	ReasonResetWithin          // the endpoint ended the connection or the stream within its response
	ReasonRefusedStream        // the endpoint refused the stream
	ReasonTimeout              // the response was not there in time
	ReasonMalformed            // the endpoint sent what is no response
	ReasonDeadline             // the deadline of the client's gRPC call passed
	ReasonClientLeft           // the client left before its response
	reasons
)

// String returns the member reason of an access log entry.
func (r Reason) String() string {
	return [reasons]string{
		"", "bad_request", "no_route", "rate_limit", "no_endpoint", "overload", "client_rate_limit", "shed", "slow_client", "max_duration",
		"connect_refused", "connect_unreachable", "connect_timeout", "connect_tls", "connect_local", "reset_before_response", "reset_within_response",
		"refused_stream", "response_timeout", "malformed_response", "call_deadline", "client_left",
	}[r]
}

// Reason returns the Reason of a refusal. Both lists have the refusals in the same order.
func (r Refusal) Reason() Reason { return Reason(r) }
