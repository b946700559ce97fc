package exchange

import "example.com/ferry/proxy/traffic"

// Rejection is why the proxy answers a request itself, whatever the protocol.
type Rejection uint8

// The rejections, and the HTTP status of each.
const (
	NoRoute        Rejection = iota // 404
	RateLimited                     // 429
	Unavailable                     // 503: no endpoint is up, or a limit of the cluster is reached
	BadGateway                      // 502: the server cannot be reached, ended its connection, or sent what is no response
	GatewayTimeout                  // 504
	RequestTimeout                  // 408: the client did not send its body in time; its connection ends
)

// HTTPStatus is the status of the proxy's response.
func (r Rejection) HTTPStatus() int { return [...]int{404, 429, 503, 502, 504, 408}[r] }

// rejection is how a request that is not forwarded is answered.
func rejection(why traffic.Refusal) Rejection {
	switch why {
	case traffic.NoRoute:
		return NoRoute
	case traffic.RateLimited:
		return RateLimited
	}
	return Unavailable
}
