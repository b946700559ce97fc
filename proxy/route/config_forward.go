package route

import (
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/protocol/http1"
)

// Forward configures edits, timeouts and retries of forwarded requests.
type Forward struct {
	// Rewrite changes path and host.
	Rewrite Rewrite `yaml:"rewrite,omitempty"`

	// Request changes the request's header fields.
	Request Edits `yaml:"request,omitempty"`

	// Response changes the response's header fields.
	Response Edits `yaml:"response,omitempty"`

	// Timeout bounds the time from the last byte of the request to the head of the response, over all attempts. The
	// listener bounds the time for the bodies of the request and the response. Zero means 15 s; negative means none.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Retry says which failed attempts are retried. Absent means that a request is sent once more, to another endpoint, if nothing of it was
	// sent: the endpoint refused the connection, is unreachable, or ended the connection.
	Retry *Retry `yaml:"retry,omitempty"`
}

// Edits are changes to header fields. Remove is applied first, then Set, then Add.
type Edits struct {
	// Set replaces all fields of a name by one field.
	Set []http1.Pair `yaml:"set,omitempty"`

	// Add adds fields. Existing fields of the same name stay.
	Add []http1.Pair `yaml:"add,omitempty"`

	// Remove removes all fields of the listed names.
	Remove []string `yaml:"remove,omitempty"`
}

// Rewrite changes the host and the path of a request. At most one of Prefix and Regex is set.
type Rewrite struct {
	// Host replaces the host: host or host:port.
	Host string `yaml:"host,omitempty"`

	// Prefix replaces the part of the path that the route's Path, Prefix or SegmentPrefix matches. It begins with a slash.
	Prefix string `yaml:"prefix,omitempty"`

	// Regex is replaced by Replacement wherever it matches in the path. The syntax is RE2.
	Regex string `yaml:"regex,omitempty"`

	// Replacement is the new text: $1 and ${name} stand for groups of Regex, and $$ stands for a dollar
	// sign. A node's file has $${name} for ${name}.
	Replacement string `yaml:"replacement,omitempty"`
}

// Retry says which failed attempts are retried. A request is sent again only if that is safe: the server has not
// processed any part of it, or its method is idempotent (RFC 9110, section 9.2.2), or Idempotent is set.
type Retry struct {
	// On lists the failures that are retried: connect-failure, reset, refused-stream (of HTTP/2: the server has not
	// processed the request), timeout (of one attempt), 5xx, gateway-error (502, 503 and 504). None includes another.
	// Without refused-stream, a refused stream is retried once. An empty list retries nothing else.
	On []Cause `yaml:"on,omitempty"`

	// Statuses lists further response statuses that are retried.
	Statuses []int `yaml:"statuses,omitempty"`

	// GRPCStatuses lists gRPC statuses that are retried, such as 14 (unavailable). It applies to responses that consist
	// of a head only. gRPC requests are POST requests, so set Idempotent too.
	GRPCStatuses []int `yaml:"grpc_statuses,omitempty"`

	// Attempts is the largest number of attempts, the first one included. Zero means 2.
	Attempts int `yaml:"attempts,omitempty"`

	// PerTryTimeout bounds each attempt. Zero means that only Timeout bounds the attempts.
	PerTryTimeout time.Duration `yaml:"per_try_timeout,omitempty"`

	// Idempotent says that every request of the route may be sent twice, whatever its method. Bolt requests have no
	// method, so they are retried after bytes were sent only if Idempotent is set.
	Idempotent bool `yaml:"idempotent,omitempty"`

	// Budget bounds the retries in proportion to the requests.
	Budget RetryBudget `yaml:"budget,omitempty"`
}

// Cause is a kind of failure that can be retried.
type Cause string

// The values of Cause.
const (
	OnConnectFailure Cause = "connect-failure"
	OnReset          Cause = "reset"
	OnRefusedStream  Cause = "refused-stream"
	OnTimeout        Cause = "timeout"
	On5xx            Cause = "5xx"
	OnGatewayError   Cause = "gateway-error"
)

// RetryBudget bounds the retries of the last 10 s: Ratio times the requests, plus MinPerSecond for each second.
type RetryBudget = balance.RetryBudget

// RateLimit is a token bucket of Burst tokens that is refilled at RequestsPerSecond.
type RateLimit struct {
	// RequestsPerSecond is from 0.001 to 1000000.
	RequestsPerSecond float64 `yaml:"requests_per_second" schema:"required"`

	// Burst is from 1 to 1000000. Zero means RequestsPerSecond, and at least 1.
	Burst int `yaml:"burst,omitempty"`
}
