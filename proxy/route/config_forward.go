package route

import (
	"time"

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

	// Timeout bounds the time from the last byte of the request to the head of the response, all attempts together. The listener
	// bounds the time that the bytes of request and response take. Zero means 15 s; negative means none.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Retry says which failed attempts are repeated. Absent means none.
	Retry *Retry `yaml:"retry,omitempty"`
}

// Edits are changes to header fields: removed ones first, then set, then added.
type Edits struct {
	// Set puts one field in place of all those of its name.
	Set []http1.Pair `yaml:"set,omitempty"`

	// Add adds fields to those there are.
	Add []http1.Pair `yaml:"add,omitempty"`

	// Remove removes all fields of these names.
	Remove []string `yaml:"remove,omitempty"`
}

// Rewrite changes where a request goes. It has at most one of Prefix and Regex.
type Rewrite struct {
	// Host replaces the host: host or host:port.
	Host string `yaml:"host,omitempty"`

	// Prefix replaces the part of the path that the route's Path, Prefix or SegmentPrefix matches. It begins with a slash.
	Prefix string `yaml:"prefix,omitempty"`

	// Regex is replaced by Replacement wherever it matches in the path, in RE2's syntax.
	Regex string `yaml:"regex,omitempty"`

	// Replacement is text; $1 and ${name} stand for groups of Regex, $$ for a dollar sign.
	Replacement string `yaml:"replacement,omitempty"`
}

// Retry says which failed attempts are repeated. An attempt is repeated only if that is safe: no byte of the request was sent, or
// its method is idempotent (RFC 9110, section 9.2.2), or Idempotent is set.
type Retry struct {
	// On are the failures that are repeated: connect-failure, reset, timeout (of one attempt), 5xx, gateway-error (502, 503
	// and 504). None includes another.
	On []Cause `yaml:"on,omitempty"`

	// Statuses are further statuses that are repeated.
	Statuses []int `yaml:"statuses,omitempty"`

	// Attempts bounds the attempts, the first one included. Zero means 2.
	Attempts int `yaml:"attempts,omitempty"`

	// PerTryTimeout bounds each attempt. Zero means that only Timeout bounds them.
	PerTryTimeout time.Duration `yaml:"per_try_timeout,omitempty"`

	// Idempotent says that all requests of the route may be sent twice, whatever their method. Bolt requests have no method.
	Idempotent bool `yaml:"idempotent,omitempty"`

	// Budget bounds the retries in proportion to the requests.
	Budget RetryBudget `yaml:"budget,omitempty"`
}

// Cause is a failure that may be repeated.
type Cause string

// The values of Cause.
const (
	OnConnectFailure Cause = "connect-failure"
	OnReset          Cause = "reset"
	OnTimeout        Cause = "timeout"
	On5xx            Cause = "5xx"
	OnGatewayError   Cause = "gateway-error"
)

// RetryBudget bounds the retries of the last 10 s: Ratio times the requests, plus MinPerSecond.
type RetryBudget struct {
	// Ratio is the retries allowed per request: up to 10. Zero means 0.2; negative means 0.
	Ratio float64 `yaml:"ratio,omitempty"`

	// MinPerSecond is the retries per second that are allowed without requests: up to 1000000. Zero means 3; negative means 0.
	MinPerSecond float64 `yaml:"min_per_second,omitempty"`
}

// RateLimit is a token bucket of Burst tokens that is refilled at RequestsPerSecond.
type RateLimit struct {
	// RequestsPerSecond is from 0.001 to 1000000.
	RequestsPerSecond float64 `yaml:"requests_per_second" schema:"required"`

	// Burst is from 1 to 1000000. Zero means RequestsPerSecond, and at least 1.
	Burst int `yaml:"burst,omitempty"`
}
