package grpc

import (
	"cmp"
	"time"

	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/internal/invalid"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
)

// Config configures both sides. The zero value works, and a nil *Config means the zero value.
type Config struct {
	// MaxMessage is the largest message that this side receives, in bytes, compressed or not. A larger one ends its call with
	// ResourceExhausted. Zero means 4 MiB.
	MaxMessage int `yaml:"max_message,omitempty" schema:"min=0"`

	// MaxHeld bounds the bytes that a connection of a server holds: requests that arrive or that handlers have read, decompressed, and
	// responses that are written. A call that exceeds it, and holds more than 64 KiB itself, ends with ResourceExhausted. A compressed request
	// waits until there is room for MaxMessage, up to RequestTimeout. Zero means 64 MiB.
	MaxHeld int `yaml:"max_held,omitempty" schema:"min=0"`

	// MaxServerHeld bounds the same bytes of all connections of a listener, without the first 64 KiB of each. A connection may hold as much as
	// all of them leave free: one alone half of it. Zero means 1 GiB.
	MaxServerHeld int `yaml:"max_server_held,omitempty" schema:"min=0"`

	// RequestTimeout bounds the time from the head of a unary call to the end of its request, on a server, to two seconds. A call that exceeds
	// it ends with DeadlineExceeded. Zero means 1 min. Negative means no bound.
	RequestTimeout time.Duration `yaml:"request_timeout,omitempty"`

	// ResponseTimeout bounds the time in which a client takes nothing of the end of a response, on a server. The call is then reset, so that
	// its handler does not wait longer, and nothing is held for it. Messages before the last one wait as long as the call lasts: by reading
	// slowly, the client of a stream controls its rate. Zero means 1 min. Negative means no bound.
	ResponseTimeout time.Duration `yaml:"response_timeout,omitempty"`

	// MaxConnections bounds the connections of a listener. A further one is closed at once. Zero means 10000.
	MaxConnections int `yaml:"max_connections,omitempty" schema:"min=0"`

	// MaxStreams is the number of calls that a client may have open at once on a connection of a server. Further calls wait in
	// the client. Zero means 1000.
	MaxStreams int `yaml:"max_streams,omitempty" schema:"min=0"`

	// StreamWindow is the number of bytes that the peer may send in a call before they are taken. Zero means 1 MiB.
	StreamWindow int `yaml:"stream_window,omitempty" schema:"min=0"`

	// ConnWindow is the number of bytes that the peer may have on the way on a connection. Zero means 4 MiB.
	ConnWindow int `yaml:"connection_window,omitempty" schema:"min=0"`

	// MaxHeader bounds the metadata of a call, as http2.Config.MaxHeader. Zero means 32 KiB.
	MaxHeader int `yaml:"max_header,omitempty" schema:"min=0"`

	// KeepAlive is the time without a byte from the peer after which PING is sent while a call is open. If only acknowledgements
	// arrive, the pauses grow to 6 minutes, because servers of gRPC close connections with more PINGs. Zero means 30 s. Negative
	// means no PING.
	KeepAlive time.Duration `yaml:"keep_alive,omitempty"`

	// KeepAliveTimeout is the time without a byte from the peer after PING that ends the connection. Zero means 20 s.
	KeepAliveTimeout time.Duration `yaml:"keep_alive_timeout,omitempty" schema:"min=0"`

	// IdleTimeout drains a connection without a call for this long. Zero means 30 min on a server, so that clients that are gone do not
	// hold the places of MaxConnections, and never on a client. Negative means never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// UserAgent precedes "ferry" in the field user-agent of a client's calls.
	UserAgent string `yaml:"user_agent,omitempty"`

	// Authority is the :authority of a client's calls. Empty means the address that was dialed.
	Authority string `yaml:"authority,omitempty"`

	// Others handles the requests of a connection that are not gRPC, such as those of jsonrpc.Protocol.OnHTTP2. Nil refuses them.
	Others func(c *h2conn.Conn, peer *call.Peer) http2.Handler `yaml:"-"`

	// Services are asked for a method before the Service of Listen is, such as those of package reflection.
	Services []call.Service `yaml:"-"`
}

// The defaults of Config.
const (
	DefaultMaxMessage     = 4 << 20
	DefaultMaxHeld        = 64 << 20
	DefaultMaxServerHeld  = 1 << 30
	DefaultMaxConnections = 10000
	DefaultMaxStreams     = 1000
	DefaultStreamWindow   = 1 << 20
	DefaultConnWindow     = 4 << 20
	DefaultRequestTimeout = time.Minute

	DefaultResponseTimeout = time.Minute
	DefaultIdleTimeout     = 30 * time.Minute // of a server
)

// abusePerStream is the number of events of each kind of abuse for each stream that a client may have open: when all its calls pass
// their deadline at once it resets all of them, and may do the same with the next ones.
const abusePerStream = 4

// Check returns an error for every invalid field of c, or nil.
func (c *Config) Check() error {
	var es invalid.Errors
	for _, f := range []struct {
		name  string
		value int
	}{{"max_message", c.MaxMessage}, {"max_held", c.MaxHeld}, {"max_server_held", c.MaxServerHeld}, {"max_connections", c.MaxConnections}} {
		if f.value < 0 {
			es.Add("grpc", f.name, "%d is negative: write 0 for the default", f.value)
		}
	}
	if !grpcwire.Printable(c.UserAgent) {
		es.Add("grpc", "user_agent", "%q is not printable ASCII: choose another text", c.UserAgent)
	}
	if c.Authority != "" && !validAuthority(c.Authority) {
		es.Add("grpc", "authority", "%q is no host with or without a port: write one, such as api.example:443", c.Authority)
	}
	if err := es.Err(); err != nil {
		return err
	}
	return c.connection().HTTP2.Check()
}

// withDefaults returns a copy of c in which the numbers of this package are set.
func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	out.MaxMessage = cmp.Or(out.MaxMessage, DefaultMaxMessage)
	out.MaxHeld = cmp.Or(out.MaxHeld, DefaultMaxHeld)
	out.MaxServerHeld = cmp.Or(out.MaxServerHeld, DefaultMaxServerHeld)
	out.MaxConnections = cmp.Or(out.MaxConnections, DefaultMaxConnections)
	out.MaxStreams = cmp.Or(out.MaxStreams, DefaultMaxStreams)
	out.StreamWindow = cmp.Or(out.StreamWindow, DefaultStreamWindow)
	out.ConnWindow = cmp.Or(out.ConnWindow, DefaultConnWindow)
	out.RequestTimeout = cmp.Or(out.RequestTimeout, DefaultRequestTimeout)
	out.ResponseTimeout = cmp.Or(out.ResponseTimeout, DefaultResponseTimeout)
	return out
}

// connection returns the configuration of connections.
func (c *Config) connection() *h2conn.Config {
	full := c.withDefaults()
	return &h2conn.Config{
		HTTP2: http2.Config{
			MaxStreams: full.MaxStreams, StreamWindow: full.StreamWindow, ConnWindow: full.ConnWindow, MaxHeader: full.MaxHeader,
			AbuseBudget: max(abusePerStream*full.MaxStreams, http2.DefaultAbuseBudget),
		},
		KeepAlive: full.KeepAlive, KeepAliveTimeout: full.KeepAliveTimeout, IdleTimeout: max(full.IdleTimeout, 0),
	}
}

// validAuthority reports whether s is a host with or without a port.
func validAuthority(s string) bool {
	for i := range len(s) {
		if c := s[i]; c|0x20-'a' > 25 && c-'0' > 9 && c != '-' && c != '_' && c != '.' && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return s != ""
}
