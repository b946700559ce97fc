package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/protocol/http1"
)

// HTTPConfig is the part of a listener's configuration that clients of HTTP/1.1 and HTTP/2 have in common. The zero value works.
type HTTPConfig struct {
	// HeaderTimeout bounds the time from the first byte of a request's head to its last one. In HTTP/2, it also bounds the time from the first byte of
	// a frame to its last one, and from the start of a connection to the client's preface. Zero means 10 s; negative means never.
	HeaderTimeout time.Duration `yaml:"header_timeout,omitempty"`

	// IdleTimeout closes a client's connection that has had no request for this long. Zero means 75 s; negative means never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// BodyTimeout is the longest time in which no byte of a request's body, a response or a tunnel moves. Zero means
	// 60 s; negative means never.
	BodyTimeout time.Duration `yaml:"body_timeout,omitempty"`

	// BodyRate is the lowest rate of a request's body in bytes per second. It is averaged over each 10 s in which the
	// proxy reads the body. Time in which the server does not read the body is not counted. A slower request gets 408.
	// A response that its client reads more slowly, averaged over BodyTimeout in which it does not keep up, is cut. Zero
	// means 100. Negative means no limit, for bodies that are streams of rare events.
	BodyRate int `yaml:"body_rate,omitempty"`

	// Upgrades are the protocols of tunnels: those that a connection of HTTP/1.1 may change to, and those that CONNECT of HTTP/2 may ask for (RFC 8441).
	// HTTP/1.1 forwards requests for others without Upgrade. Empty means websocket. Do not add h2c: its requests would bypass the routes.
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

// Check adds the errors in c to errs, as errors of package pkg.
func (c *HTTPConfig) Check(pkg string, errs *invalid.Errors) {
	for i, name := range c.Upgrades {
		if name == "" || strings.ContainsAny(name, " \t\r\n,") {
			errs.Add(pkg, fmt.Sprintf("upgrades[%d]", i), "%q is no protocol: write websocket or another name", name)
		}
	}
	if c.TrustForwarded && !c.ForwardedFor {
		errs.Add(pkg, "trust_forwarded", "needs forwarded_for: set both, or none to let the fields pass unchanged")
	}
	edit := http1.RequestEdit{Via: c.Via}
	if err := edit.Validate(); err != nil {
		errs.Add(pkg, "via", "%s", strings.TrimPrefix(err.Error(), "http1: "))
	}
	if c.MaxRequests < 0 {
		errs.Add(pkg, "max_requests", "%d: write a number, or 0 for no bound", c.MaxRequests)
	}
	errs.AddDuration(pkg, "header_timeout", c.HeaderTimeout)
	errs.AddDuration(pkg, "idle_timeout", c.IdleTimeout)
	errs.AddDuration(pkg, "body_timeout", c.BodyTimeout)
}

// Or returns c with the fields of other where those of c are zero. TrustForwarded goes with ForwardedFor.
func (c HTTPConfig) Or(other *HTTPConfig) HTTPConfig {
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, other.HeaderTimeout)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, other.IdleTimeout)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, other.BodyTimeout)
	c.BodyRate = cmp.Or(c.BodyRate, other.BodyRate)
	c.Via = cmp.Or(c.Via, other.Via)
	c.MaxRequests = cmp.Or(c.MaxRequests, other.MaxRequests)
	if len(c.Upgrades) == 0 {
		c.Upgrades = other.Upgrades
	}
	if !c.ForwardedFor {
		c.ForwardedFor, c.TrustForwarded = other.ForwardedFor, other.TrustForwarded
	}
	return c
}

// WithDefaults returns c with the defaults filled in.
func (c HTTPConfig) WithDefaults() HTTPConfig {
	return c.Or(&HTTPConfig{
		HeaderTimeout: 10 * time.Second, IdleTimeout: 75 * time.Second, BodyTimeout: time.Minute, BodyRate: 100, Upgrades: []string{"websocket"},
	})
}

// Timeouts returns the timeouts of bodies.
func (c *HTTPConfig) Timeouts() Timeouts { return Timeouts{Body: c.BodyTimeout, BodyRate: c.BodyRate} }

// MayUpgrade reports whether clients may ask for a tunnel to protocol.
func (c *HTTPConfig) MayUpgrade(protocol []byte) bool {
	return slices.ContainsFunc(c.Upgrades, func(name string) bool { return strings.EqualFold(name, string(protocol)) })
}

// SetChanges sets the listener's changes to the head of a request, before Forward. upgrade means that the request asks for a tunnel.
func (r *Relay) SetChanges(c *HTTPConfig, upgrade bool) {
	changes := &r.Changes
	changes.Via, changes.Upgrade = c.Via, upgrade
	r.TLS.SetClientCert(changes)
	if c.ForwardedFor {
		changes.SetForwarded(r.down.ClientAddr(), r.TLS != nil, c.TrustForwarded)
	}
}
