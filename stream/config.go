package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/ferry"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
)

// Config configures a Client. A nil *Config and zero values mean the defaults.
type Config struct {
	// Token is the secret that identifies the client. It may be empty if a certificate or the node's configuration
	// identifies the client. It is never logged.
	Token []byte

	// Name appears in the node's logs and metrics. It grants nothing.
	Name string

	// MinBackoff and MaxBackoff bound the pause before the client dials a lost connection again. The pause doubles with
	// each failure and varies randomly by half. It begins again with MinBackoff after a connection that was longer than the pause.
	// If the node has announced its end, and the connection was longer than MinBackoff, the first pause is none, or 2 to 6 ms over
	// QUIC, and the next one begins with MinBackoff. Zero means 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration

	// DialTimeout limits one attempt to connect, including the handshake. Zero means 10 s.
	DialTimeout time.Duration

	// Spool keeps messages on disk until the node has them. Then Send, SendStored and Flush need no connection, and neither does
	// Dial: Send stores the message in the spool, and the client publishes the spool's messages in order whenever it is connected,
	// beginning with those of earlier processes. A message stays in the spool until the node has stored it, or routed it if its tag
	// is not stored. It may be published twice, with the same ID: a stream that is stored at least once drops the second one
	// within its duplicate window. Messages with To are not spooled, and lost with their connection. While the node refuses a tag,
	// its messages and all behind them stay in the spool. Close the Spool after the Client. Nil means none.
	Spool *spool.Spool

	// OnDropped is called when messages are lost that Send has accepted: the node has dropped them, for example because their payload
	// is invalid, or it does not grant their tag on a new connection, so that the copies of what was not stored are dropped too. It is
	// not called for a message whose SendStored returns the error, nor for one that the handler of a durable has sent, which fails
	// the handler's message. It must return soon, and not wait for the Client. Calls may overlap. Nil means that Flush, Stats and
	// the log tell.
	OnDropped func(err *DroppedError)

	// Log receives lost connections and handlers' errors. Nil means slog.Default.
	Log *slog.Logger
}

func (c *Config) filled() Config {
	var f Config
	if c != nil {
		f = *c
	}
	for _, d := range [...]struct {
		v   *time.Duration
		def time.Duration
	}{{&f.MinBackoff, 100 * time.Millisecond}, {&f.MaxBackoff, 5 * time.Second}, {&f.DialTimeout, 10 * time.Second}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if f.Log == nil {
		f.Log = slog.Default()
	}
	return f
}

// Policy says what the node does with messages when a function's queue is full.
type Policy = native.Policy

// The policies. The node counts the messages that it drops.
const (
	Block      = native.Block      // withhold credit for that tag from its sources, so they wait
	DropOldest = native.DropOldest // drop the oldest queued message
	DropNewest = native.DropNewest // drop the new message
)

// ParsePolicy parses block, drop-oldest or drop-newest.
func ParsePolicy(s string) (Policy, error) {
	p, err := native.ParsePolicy(s)
	if err != nil {
		return p, fmt.Errorf("stream: %w", err)
	}
	return p, nil
}

// Function describes a function: the tags it observes and its handler, which may publish new messages.
type Function struct {
	// Observe lists the tag filters: '/' separates levels, + matches one level, # matches all further levels.
	Observe []string

	// Where is a predicate on the payload. The node evaluates it and sends only messages for which it is true. Empty
	// means every message.
	Where string

	// Group names a consumer group: each message is sent to one function of the group. Empty means that this function
	// receives every message.
	Group string

	// Addressed makes the function receive only messages that are addressed to this client (Message.To). Without it,
	// the function receives only messages that are published to everyone.
	Addressed bool

	// Policy says what the node does if the function is too slow. The zero value is Block.
	Policy Policy

	// Window bounds the bytes of each tag, or of all tags if they come from a stream, that the node has sent and the function has
	// not handled. Zero means 1 MiB.
	Window int

	// Queue bounds the bytes of each tag that wait in the node. Zero means the node's default.
	Queue int

	// Durable is the name of a durable, which makes the function a member of it: 1 to 64 letters, digits, hyphens and underscores.
	// Its node remembers which messages are done, so they survive restarts of the function, of the client and of the node. The
	// members of a durable share its messages. A handler that returns nil acknowledges the message; after an error, and when the
	// function is lost, the message is delivered again (see ferry.Handler, Retry and Reject), and later messages with its key wait for
	// it. If the node drops what the handler has sent to a stored tag, that is known only later: messages with the key that the
	// handler has begun by then are not held back. Observe has one filter, whose tags
	// belong to one stream that is stored at least once; all members have the same filter and the same Where.
	Durable string

	// From is where in the stream the function begins. If the durable exists already, the function goes on where it is. Without a
	// Durable the function reads the stream for itself, and acknowledges nothing; on a new connection it goes on behind the last
	// message that it has received.
	From From

	// Concurrency bounds the concurrent calls of Handler. Messages of one source on one tag are always handled in
	// order, and so are messages of a stream with one key. Zero means one call for each CPU.
	Concurrency int

	// Handler is called for each message. A ferry.BatchHandler is called once for all messages that are waiting.
	Handler ferry.Handler
}

// Sink returns a Handler that calls f and publishes nothing.
func Sink(f func(ctx context.Context, in *ferry.Message) error) ferry.Handler {
	return ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, _ ferry.Sender) error { return f(ctx, in) })
}

// ErrClosed is the error of operations on a closed Client.
var ErrClosed = errors.New("stream: client closed")
