package rpc

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/ferry/codec/json"
	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/discovery"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// Types that the clusters of the proxy have, too.
type (
	// Policy is a load-balancing policy.
	Policy = balance.Policy
	// Outlier configures the ejection of endpoints whose calls fail.
	Outlier = balance.Outlier
	// Limits are a circuit breaker.
	Limits = balance.Limits
	// Source finds endpoints and follows their changes.
	Source = discovery.Source
	// Endpoint is one server that a Source has found.
	Endpoint = discovery.Endpoint
)

// The policies.
const (
	EWMA         = balance.EWMA         // the one of two random endpoints with the smaller product of latency and calls in progress
	LeastRequest = balance.LeastRequest // the one of two random endpoints with fewer calls in progress
	RoundRobin   = balance.RoundRobin   // each endpoint in turn
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// Protocol writes calls as bytes. Nil means native.Protocol with MaxMessage.
	Protocol call.Protocol

	// Transports are the transports that a target may name. Nil means tcp. A TLS transport verifies servers as it is configured.
	Transports []transport.Transport

	// Sources find endpoints, beside the endpoints that the target names. Each belongs to one Client.
	Sources []Source

	// Log gets a line when a Source begins to fail, and when it works again. Nil means slog.Default().
	Log *slog.Logger

	// Contents are the content types that calls may use, and Content is the type of calls without the option WithContent. Nil means
	// application/json; empty means the first of Contents.
	Contents []envelope.Content
	Content  string

	// Compression compresses messages on the wire: "", gzip or zstd. The option Compress changes it for a call.
	Compression string

	// MaxMessage is the size in bytes of the largest message, in either direction. Zero means 4 MiB. The protocol has a limit of its
	// own, which it checks before it stores a message.
	MaxMessage int

	// Timeout is the time limit of calls whose context has no deadline, streams included. Zero means none.
	Timeout time.Duration

	// WaitForReady makes calls wait for a connection, until their deadline. Otherwise a call fails with Unavailable if the last
	// attempts to connect to all endpoints have failed, and none of them was connected within the last 2 s. Dial does not wait for a
	// connection if WaitForReady is set.
	WaitForReady bool

	// Conns is the largest number of connections to each endpoint. Zero means 4. The first one is opened at once, another when each
	// of the open ones has 16 calls in progress.
	Conns int

	// ConnectTimeout bounds an attempt to connect. Zero means 5 s.
	ConnectTimeout time.Duration

	// MinBackoff and MaxBackoff bound the time between attempts to connect, which doubles with each failure and varies at random by
	// half. Zero means 50 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration

	// HealthInterval is the time between health checks of each endpoint by the service grpc.health.v1.Health. Zero means no checks. A
	// server that has no such service counts as healthy.
	HealthInterval time.Duration

	// Policy chooses the endpoint of a call. Empty means EWMA.
	Policy Policy

	// Outlier configures ejection. Nil means the defaults of Outlier; NoEjection means no ejection.
	Outlier *Outlier

	// Limits bound the calls in progress together. A further call fails with ResourceExhausted.
	Limits Limits

	// Idempotent names the methods that may run twice: greeter.Greeter.Hello, or greeter.Greeter.* for all of a service. Only
	// these are retried after the server may have begun, and hedged. The option Idempotent marks a call.
	Idempotent []string

	// Retry configures further attempts of unary calls that fail.
	Retry Retry

	// Hedge configures second attempts of unary calls that are slow. Nil means none.
	Hedge *Hedge

	// Interceptors run around each call. The first one is the outermost.
	Interceptors []Interceptor

	// Observer is told of the start and the end of each call. Nil means none.
	Observer Observer
}

// NoEjection is the Outlier that ejects no endpoint.
var NoEjection = &Outlier{Failures: 1<<31 - 1}

// Retry configures further attempts of idempotent unary calls. A call that its server has certainly not begun, because it drains, is tried
// again on another connection, whatever its method and this configuration.
type Retry struct {
	// Attempts is the largest number of attempts that servers begin, the first one included. Zero means 3; 1 means no retries.
	Attempts int

	// Codes are the codes after which an idempotent call is tried again. Nil means Unavailable.
	Codes []call.Code

	// Backoff is the mean time before the second attempt. It doubles with each attempt and varies at random by half. Zero means
	// 10 ms.
	Backoff time.Duration

	// Ratio and MinPerSecond are the budget: the retries of the last 10 s are at most Ratio times the calls, and MinPerSecond for each second
	// in addition. Zero means 0.2 and 3; a negative value means 0.
	Ratio, MinPerSecond float64
}

// Hedge configures second attempts of slow calls. When an idempotent unary call has no response after a delay, the client sends
// it to another endpoint, takes the first response and cancels the other attempt.
type Hedge struct {
	// Delay is the time before the second attempt. Zero means the quantile Quantile of the method's recent latencies, once there are
	// 100.
	Delay time.Duration

	// Quantile is used if Delay is zero. Zero means 0.95.
	Quantile float64

	// MaxExtra is the largest share of calls in the last 10 s that get a second attempt. A fifth of it is kept for calls that have waited
	// for twice the delay and more. Zero means 0.05.
	MaxExtra float64
}

// check returns a copy of c with the defaults filled in, and the content of Content.
func (c *ClientConfig) check() (*ClientConfig, *envelope.Content, error) {
	var d ClientConfig
	if c != nil {
		d = *c
	}
	if d.Contents == nil {
		d.Contents = []envelope.Content{{Type: "application/json", Codec: json.Codec{}}}
	}
	if d.Transports == nil {
		d.Transports = []transport.Transport{tcp.New(nil)}
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Outlier == nil {
		d.Outlier = &Outlier{}
	}
	if d.Retry.Codes == nil {
		d.Retry.Codes = []call.Code{call.Unavailable}
	}
	setDefault(&d.Content, d.Contents[0].Type)
	setDefault(&d.MaxMessage, defaultMaxMessage)
	if d.Protocol == nil {
		d.Protocol = native.Protocol{MaxMessage: d.MaxMessage, Log: d.Log}
	}
	setDefault(&d.Conns, 4)
	setDefault(&d.ConnectTimeout, 5*time.Second)
	setDefault(&d.MinBackoff, 50*time.Millisecond)
	setDefault(&d.MaxBackoff, 10*time.Second)
	setDefault(&d.Policy, EWMA)
	setDefault(&d.Retry.Attempts, 3)
	setDefault(&d.Retry.Backoff, 10*time.Millisecond)
	if d.Hedge != nil {
		h := *d.Hedge
		setDefault(&h.Quantile, 0.95)
		setDefault(&h.MaxExtra, 0.05)
		d.Hedge = &h
	}
	if !d.Policy.Valid() {
		return nil, nil, fmt.Errorf("rpc: ClientConfig.Policy %q: write %s, %s or %s", d.Policy, EWMA, LeastRequest, RoundRobin)
	}
	if h := d.Hedge; h != nil && (h.Quantile <= 0 || h.Quantile >= 1) {
		return nil, nil, fmt.Errorf("rpc: ClientConfig.Hedge.Quantile %v: write a number between 0 and 1, such as 0.95", h.Quantile)
	}
	content, err := d.contentOf(d.Content)
	return &d, content, err
}

func (c *ClientConfig) contentOf(contentType string) (*envelope.Content, error) {
	i := slices.IndexFunc(c.Contents, func(x envelope.Content) bool { return x.Type == contentType })
	if i < 0 {
		var all []string
		for _, x := range c.Contents {
			all = append(all, x.Type)
		}
		return nil, fmt.Errorf("rpc: content type %q is not in ClientConfig.Contents: use %s", contentType, strings.Join(all, ", "))
	}
	return &c.Contents[i], nil
}

// idempotent reports whether Idempotent names the method.
func (c *ClientConfig) idempotent(method string) bool {
	return slices.ContainsFunc(c.Idempotent, func(name string) bool {
		service, all := strings.CutSuffix(name, ".*")
		return name == method || all && service == serviceOf(method)
	})
}

func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
