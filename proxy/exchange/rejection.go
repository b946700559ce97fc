package exchange

import "example.com/ferry/proxy/traffic"

// Rejection is the reason for a response of the proxy's own. It does not depend on the protocol.
type Rejection uint8

// The rejections and the HTTP status of each.
const (
	NoRoute        Rejection = iota // 404
	RateLimited                     // 429
	Unavailable                     // 503: no endpoint is up, or a limit of the cluster is reached
	BadGateway                      // 502: the server is unreachable, closed its connection, or sent an invalid response
	GatewayTimeout                  // 504: the server did not respond in time
	RequestTimeout                  // 408: the client did not send the body in time; its connection is closed
)

// HTTPStatus returns the HTTP status of the proxy's response.
func (r Rejection) HTTPStatus() int { return [...]int{404, 429, 503, 502, 504, 408}[r] }

// rejectionFor returns the Rejection for a request that is not forwarded.
func rejectionFor(why traffic.Refusal) Rejection {
	switch why {
	case traffic.NoRoute:
		return NoRoute
	case traffic.RateLimited:
		return RateLimited
	}
	return Unavailable
}
