package http1

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"example.com/ferry/internal/invalid"

	wire "example.com/ferry/protocol/http1"
)

// Config configures a listener of HTTP/1.1. The zero value works.
type Config struct {
	// Limits bound the messages of clients and servers; max_body applies to clients only.
	Limits wire.Limits `yaml:"limits,omitempty"`

	// HeaderTimeout bounds the time from the first byte of a request's head to its last one. Zero means 10 s; negative means
	// never.
	HeaderTimeout time.Duration `yaml:"header_timeout,omitempty"`

	// IdleTimeout closes a client's connection that is unused for this long. Zero means 75 s; negative means never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// BodyTimeout is the longest time in which no byte of a request's body, a response or a tunnel moves. Zero means
	// 60 s; negative means never.
	BodyTimeout time.Duration `yaml:"body_timeout,omitempty"`

	// BodyRate is the lowest rate of a request's body in bytes per second. It is averaged over each 10 s in which the
	// proxy reads the body. Time in which the server does not read the body is not counted. A slower request gets 408
	// and its connection is closed. A client that reads a response more slowly, averaged over BodyTimeout in which it does
	// not keep up, loses its connection. Zero means 100. Negative means no limit, for bodies that are streams of rare
	// events.
	BodyRate int `yaml:"body_rate,omitempty"`

	// Upgrades are the protocols that a connection may change to; requests for others are forwarded without Upgrade.
	// Empty means websocket. Do not add h2c: its requests would bypass the routes.
	Upgrades []string `yaml:"upgrades,omitempty"`

	// ForwardedFor replaces X-Forwarded-For and X-Forwarded-Proto by the client's address and scheme. Without it, these fields
	// pass unchanged.
	ForwardedFor bool `yaml:"forwarded_for,omitempty"`

	// TrustForwarded is for clients that are trusted proxies: the proxy appends to their X-Forwarded fields instead
	// of replacing them. It needs ForwardedFor.
	TrustForwarded bool `yaml:"trust_forwarded,omitempty"`

	// Via is this proxy's name in the Via fields of requests and responses. Empty writes none.
	Via string `yaml:"via,omitempty"`

	// MaxRequests is the number of requests after which a client's connection is closed. Zero means no limit.
	MaxRequests int `yaml:"max_requests,omitempty" schema:"min=0"`
}

// Check returns an error for every invalid field of c, or nil.
func (c *Config) Check() error {
	var es invalid.Errors
	if err := c.Limits.Validate(); err != nil {
		es.Add("http1", "limits", "%s", reason(err))
	}
	for i, name := range c.Upgrades {
		if name == "" || strings.ContainsAny(name, " \t\r\n,") {
			es.Add("http1", fmt.Sprintf("upgrades[%d]", i), "%q is no protocol: write websocket or another name", name)
		}
	}
	if c.TrustForwarded && !c.ForwardedFor {
		es.Add("http1", "trust_forwarded", "needs forwarded_for: set both, or none to have the fields pass as they came")
	}
	edit := wire.RequestEdit{Via: c.Via}
	if err := edit.Validate(); err != nil {
		es.Add("http1", "via", "%s", reason(err))
	}
	if c.MaxRequests < 0 {
		es.Add("http1", "max_requests", "%d: write a number, or 0 for no bound", c.MaxRequests)
	}
	es.AddDuration("http1", "header_timeout", c.HeaderTimeout)
	es.AddDuration("http1", "idle_timeout", c.IdleTimeout)
	es.AddDuration("http1", "body_timeout", c.BodyTimeout)
	return es.Err()
}

// reason returns the text of err without the package prefix.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "http1: ") }

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

// upgrades reports whether the listener allows an upgrade to protocol.
func (c *Config) upgrades(protocol []byte) bool {
	for _, name := range c.Upgrades {
		if strings.EqualFold(name, string(protocol)) {
			return true
		}
	}
	return false
}
