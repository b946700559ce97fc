package http2

import (
	"errors"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy/exchange"

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

	exchange.HTTPConfig `yaml:",inline"`
}

// Check returns an error for every invalid field of c, or nil.
func (c *Config) Check() error {
	var es invalid.Errors
	limits := c.wire()
	var wrong invalid.Errors
	if errors.As(limits.Check(), &wrong) {
		es = append(es, wrong...)
	}
	c.HTTPConfig.Check("http2", &es)
	return es.Err()
}

// wire returns the part of c that the protocol applies itself.
func (c *Config) wire() wire.Config {
	return wire.Config{
		MaxStreams: c.MaxStreams, StreamWindow: int(c.StreamWindow), ConnWindow: int(c.ConnectionWindow),
		MaxHeader: int(c.MaxHeader), MaxFields: c.MaxFields, ExtendedConnect: true, BoundHeld: true,
	}
}
