package exchange

import (
	"errors"
	"math"
	"strconv"
	"syscall"
	"time"

	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// Rejection is the reason for a response of the proxy's own. It does not depend on the protocol. Exchange.ErrorResponse
// has the response.
type Rejection uint8

// The rejections.
const (
	NoRoute        Rejection = iota
	RateLimited              // the rate limit of the route or of the client is reached
	Unavailable              // no endpoint is up, none accepts a connection or a stream, or a limit of the cluster is reached
	BadGateway               // the server closed its connection or sent an invalid response
	GatewayTimeout           // the server did not respond in time
	RequestTimeout           // the client did not send the body in time; its connection is closed
	Overloaded               // the overload manager refuses requests
	ServerCanceled           // the server has canceled the request
	BadPath                  // servers read the path in two ways that do not have the same route, or a redirect needs the host that the request does not have
	HeadTooLarge             // the head is larger than the server accepts
	Misdirected              // a new connection is needed, because the terms of the listener's TLS have changed; the connection is closed
)

// rejections has the response of each Rejection. A gRPC status of 0 is that of the HTTP status.
var rejections = [...]struct {
	http, grpc int
	message    string // for gRPC
}{
	NoRoute:        {404, 0, "no route matches"},
	RateLimited:    {429, 0, "the rate limit of the route is reached"},
	Unavailable:    {503, 0, "no server is available"},
	BadGateway:     {502, 0, "the server is unreachable or closed the connection"},
	GatewayTimeout: {504, 0, "the server did not respond in time"},
	RequestTimeout: {408, 0, "the request did not arrive in time"},
	Overloaded:     {503, 0, "the proxy is overloaded"},
	ServerCanceled: {502, grpcCanceled, "the server canceled the request"},
	BadPath:        {400, 0, "the path is ambiguous"},
	HeadTooLarge:   {431, grpcExhausted, "the metadata is larger than the server accepts"},
	Misdirected:    {421, grpcUnavailable, "the listener's TLS has changed: connect again"},
}

// HTTPStatus returns the HTTP status of the proxy's response.
func (r Rejection) HTTPStatus() int { return rejections[r].http }

// rejectionFor returns the Rejection for a request that is not forwarded.
func rejectionFor(why traffic.Refusal) Rejection {
	switch why {
	case traffic.NoRoute:
		return NoRoute
	case traffic.RateLimited, traffic.ClientRateLimited:
		return RateLimited
	case traffic.Shed:
		return Overloaded
	case traffic.BadRequest:
		return Misdirected
	}
	return Unavailable
}

// rejectionForFailure returns the Rejection for the failure of a request's last attempt. A server that accepts no connection,
// or refuses the stream and so has not processed the request (RFC 9113, section 8.7), is unavailable; one whose TLS handshake
// fails is a bad gateway, because waiting does not help.
func rejectionForFailure(f Failure) Rejection {
	var refused syscall.Errno
	switch {
	case f.TimedOut:
		return GatewayTimeout
	case f.Cause == route.OnConnectFailure && errors.As(f.Err, &refused), f.Cause == route.OnRefusedStream:
		return Unavailable
	case f.Canceled:
		return ServerCanceled
	}
	return BadGateway
}

// ErrorFields returns the fields of an error response of the proxy's own, beside those of its body: Retry-After says when the limit that
// refused the request accepts one again (RFC 9110, section 10.2.3), and X-Ferry-Reason why there is no response of a server.
func (x *Exchange) ErrorFields() (fields []http1.Pair) {
	if x.retryAfter > 0 {
		fields = append(fields, http1.Pair{Name: "Retry-After", Value: strconv.Itoa(int(math.Ceil(x.retryAfter.Seconds())))})
	}
	if x.Plan.ReasonHeader && x.reason != traffic.NoReason {
		fields = append(fields, http1.Pair{Name: "X-Ferry-Reason", Value: x.reason.String()})
	}
	return fields
}

// refuseUntil is Refuse for a limit that accepts a request again after a time.
func (x *Exchange) refuseUntil(why traffic.Refusal, after time.Duration) traffic.Refusal {
	x.retryAfter = max(after, time.Second)
	return x.Refuse(why)
}
