package http1

import "fmt"

// The default limits. They are large enough for browsers with long cookies, and bound hostile clients.
const (
	DefaultMaxHead        = 64 << 10
	DefaultMaxRequestLine = 8 << 10
	DefaultMaxFieldLine   = 16 << 10
	DefaultMaxFields      = 128
	DefaultMaxExtensions  = 2 << 10
	DefaultMaxTrailers    = 4 << 10
)

const maxLimit = 16 << 20 // bytes, or number of fields: the largest value that Validate accepts

// Limits bound the messages of a peer. The zero value of a field means the default of that field. Nil Limits mean all
// defaults. Parsers do not change Limits, so several connections may share one value.
type Limits struct {
	// MaxHead bounds a head, from the first byte to the empty line, in bytes. Zero means 64 KiB. Beyond it: 431.
	MaxHead int `yaml:"max_head,omitempty"`
	// MaxRequestLine bounds the first line, in bytes. Zero means 8 KiB. Beyond it: 414.
	MaxRequestLine int `yaml:"max_request_line,omitempty"`
	// MaxFieldLine bounds one header or trailer line, in bytes. Zero means 16 KiB. Beyond it: 431.
	MaxFieldLine int `yaml:"max_field_line,omitempty"`
	// MaxFields bounds the number of fields in a head, and of those in a trailer. Zero means 128. Beyond it: 431.
	MaxFields int `yaml:"max_fields,omitempty"`
	// MaxExtensions bounds the chunk extensions of one body taken together, in bytes. Zero means 2 KiB. Beyond it: 400.
	MaxExtensions int `yaml:"max_extensions,omitempty"`
	// MaxTrailers bounds the trailer section of a chunked body, in bytes. Zero means 4 KiB. Beyond it: 431.
	MaxTrailers int `yaml:"max_trailers,omitempty"`
	// MaxBody bounds the content of one message, in bytes. Zero means no bound. A larger one: 413.
	MaxBody int64 `yaml:"max_body,omitempty"`
}

// Validate returns an error for the first limit that is negative or above 16 MiB. Parsers use the default in place of such a
// limit.
func (l *Limits) Validate() error {
	for _, row := range []struct {
		name  string
		value int
	}{
		{"max_head", l.MaxHead},
		{"max_request_line", l.MaxRequestLine},
		{"max_field_line", l.MaxFieldLine},
		{"max_fields", l.MaxFields},
		{"max_extensions", l.MaxExtensions},
		{"max_trailers", l.MaxTrailers},
	} {
		if row.value < 0 || row.value > maxLimit {
			return fmt.Errorf("http1: %s %d: use 0 for the default, or a number up to %d", row.name, row.value, maxLimit)
		}
	}
	if l.MaxBody < 0 {
		return fmt.Errorf("http1: max_body %d: use 0 for no bound, or a number of bytes", l.MaxBody)
	}
	return nil
}

var defaults = Limits{}

// orDefault returns l, or the default limits if l is nil.
func (l *Limits) orDefault() *Limits {
	if l == nil {
		return &defaults
	}
	return l
}

func limit(value, otherwise int) int {
	if value <= 0 || value > maxLimit {
		return otherwise
	}
	return value
}

func (l *Limits) head() int        { return limit(l.MaxHead, DefaultMaxHead) }
func (l *Limits) requestLine() int { return limit(l.MaxRequestLine, DefaultMaxRequestLine) }
func (l *Limits) fieldLine() int   { return limit(l.MaxFieldLine, DefaultMaxFieldLine) }
func (l *Limits) fields() int      { return limit(l.MaxFields, DefaultMaxFields) }
func (l *Limits) extensions() int  { return limit(l.MaxExtensions, DefaultMaxExtensions) }
func (l *Limits) trailers() int    { return limit(l.MaxTrailers, DefaultMaxTrailers) }
