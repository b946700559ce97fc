package http1

import (
	"strings"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// Config configures a listener of HTTP/1.1. The zero value works.
type Config struct {
	// Limits bound the messages of clients and servers; max_body applies to clients only.
	Limits wire.Limits `yaml:"limits,omitempty"`

	exchange.HTTPConfig `yaml:",inline"`
}

// Check returns an error for every invalid field of c, or nil.
func (c *Config) Check() error {
	var es invalid.Errors
	if err := c.Limits.Validate(); err != nil {
		es.Add("http1", "limits", "%s", strings.TrimPrefix(err.Error(), "http1: "))
	}
	c.HTTPConfig.Check("http1", &es)
	return es.Err()
}
