package http2

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/internal/invalid"

	http1 "example.com/ferry/protocol/http1"
	wire "example.com/ferry/protocol/http2"
)

// Config configures the connections of clients that speak HTTP/2. The zero value works.
type Config struct {
	// MaxStreams is the number of requests that a client may have in progress on one connection. Zero means 100.
	MaxStreams int `yaml:"max_streams,omitempty" schema:"min=0"`

	// StreamWindow is the number of bytes of a request's body that a client may send before the proxy has passed them on.
	// Zero means 64KiB.
	StreamWindow bytesize.Size `yaml:"stream_window,omitempty"`

	// ConnectionWindow is the number of bytes of bodies that a client may send on all streams of a connection before the proxy has
	// passed them on: at least 65535 bytes. Bodies of requests that wait for a connection to a server count. Zero means 1MiB.
	ConnectionWindow bytesize.Size `yaml:"connection_window,omitempty"`

	// MaxHeader is the largest size of a request's header fields in bytes, 32 added for each field (RFC 9113, section
	// 6.5.2). Zero means 32KiB.
	MaxHeader bytesize.Size `yaml:"max_header,omitempty"`

	// MaxFields is the largest number of header fields of a request. Zero means 128.
	MaxFields int `yaml:"max_fields,omitempty" schema:"min=0"`

	// MaxBody bounds the body of a request in bytes; a larger one gets 413. It does not bound tunnels. Zero means no bound.
	MaxBody bytesize.Size `yaml:"max_body,omitempty"`

	// HeaderTimeout bounds the time from the first byte of a frame or of a request's head to its last one. It also bounds
	// the time from the start of a connection to the client's preface. Zero means 10 s; negative means never.
	HeaderTimeout time.Duration `yaml:"header_timeout,omitempty"`

	// IdleTimeout closes a client's connection that has had no request for this long. Zero means 75 s; negative means
	// never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// BodyTimeout is the longest time in which no byte of a request's body, a response or a tunnel moves. Zero means
	// 60 s; negative means never.
	BodyTimeout time.Duration `yaml:"body_timeout,omitempty"`

	// BodyRate is the lowest rate of a request's body in bytes per second, averaged over each 10 s in which the proxy
	// reads the body. A slower request gets 408. A response that its client reads more slowly, averaged over BodyTimeout in
	// which it does not keep up, is reset. Zero means 100. Negative means no limit, for bodies that are streams of rare events.
	BodyRate int `yaml:"body_rate,omitempty"`

	// Upgrades are the protocols that a client may open a tunnel for with CONNECT (RFC 8441). Empty means websocket.
	Upgrades []string `yaml:"upgrades,omitempty"`

	// ForwardedFor replaces X-Forwarded-For and X-Forwarded-Proto by the client's address and scheme. Without it, these
	// fields pass unchanged.
	ForwardedFor bool `yaml:"forwarded_for,omitempty"`

	// TrustForwarded is for clients that are trusted proxies: the proxy appends to their X-Forwarded fields instead of
	// replacing them. It needs ForwardedFor.
	TrustForwarded bool `yaml:"trust_forwarded,omitempty"`

	// Via is this proxy's name in the Via fields of requests and responses. Empty writes none.
	Via string `yaml:"via,omitempty"`

	// MaxRequests is the number of requests after which a client's connection is closed. Zero means no limit.
	MaxRequests int `yaml:"max_requests,omitempty" schema:"min=0"`
}

// Check returns an error for every invalid field of c, or nil.
func (c *Config) Check() error {
	var es invalid.Errors
	limits := c.wire()
	var wrong invalid.Errors
	if errors.As(limits.Check(), &wrong) {
		es = append(es, wrong...)
	}
	for i, name := range c.Upgrades {
		if name == "" || strings.ContainsAny(name, " \t\r\n,") {
			es.Add("http2", fmt.Sprintf("upgrades[%d]", i), "%q is no protocol: write websocket or another name", name)
		}
	}
	if c.TrustForwarded && !c.ForwardedFor {
		es.Add("http2", "trust_forwarded", "needs forwarded_for: set both, or none to let the fields pass unchanged")
	}
	edit := http1.RequestEdit{Via: c.Via}
	if err := edit.Validate(); err != nil {
		es.Add("http2", "via", "%s", strings.TrimPrefix(err.Error(), "http1: "))
	}
	if c.MaxRequests < 0 {
		es.Add("http2", "max_requests", "%d: write a number, or 0 for no bound", c.MaxRequests)
	}
	es.AddDuration("http2", "header_timeout", c.HeaderTimeout)
	es.AddDuration("http2", "idle_timeout", c.IdleTimeout)
	es.AddDuration("http2", "body_timeout", c.BodyTimeout)
	return es.Err()
}

// wire returns the part of c that the protocol applies itself.
func (c *Config) wire() wire.Config {
	return wire.Config{
		MaxStreams: c.MaxStreams, StreamWindow: int(c.StreamWindow), ConnWindow: int(c.ConnectionWindow),
		MaxHeader: int(c.MaxHeader), MaxFields: c.MaxFields, ExtendedConnect: true, BoundHeld: true,
	}
}

func (c *Config) withDefaults() Config {
	out := *c
	out.HeaderTimeout = cmp.Or(out.HeaderTimeout, 10*time.Second)
	out.IdleTimeout = cmp.Or(out.IdleTimeout, 75*time.Second)
	out.BodyTimeout = cmp.Or(out.BodyTimeout, time.Minute)
	out.BodyRate = cmp.Or(out.BodyRate, 100)
	if len(out.Upgrades) == 0 {
		out.Upgrades = []string{"websocket"}
	}
	return out
}

// upgrades reports whether the listener allows a tunnel for protocol.
func (c *Config) upgrades(protocol []byte) bool {
	for _, name := range c.Upgrades {
		if strings.EqualFold(name, string(protocol)) {
			return true
		}
	}
	return false
}
