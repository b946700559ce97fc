package route

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/internal/bytesize"
)

// Compression compresses the bodies of responses with gzip or zstd, as the client's Accept-Encoding says.
//
// A response passes unchanged if it has a Content-Encoding, a digest of its content, or Cache-Control: no-transform; if its status is 204 or 206; if it
// is one of gRPC; if its content type is another, or it is smaller than MinSize. Responses to HEAD, and those with status 304, have the Vary and the ETag
// of the response that GET would get.
type Compression struct {
	// Types are the content types that are compressed: application/json, or text/* for all of one kind. Empty means text/*, JSON, XML,
	// JavaScript, WebAssembly and SVG.
	Types []string `yaml:"types,omitempty"`

	// MinSize is the size in bytes of the smallest body that is compressed. A body whose size is not known in advance is compressed. Zero
	// means 1KiB.
	MinSize bytesize.Size `yaml:"min_size,omitempty"`

	// Off compresses nothing. It is for a route whose responses hold a secret beside text that a client chooses (BREACH).
	Off bool `yaml:"off,omitempty"`
}

const defaultMinSize = 1 << 10

var defaultTypes = []string{
	"text/*", "application/json", "application/*+json", "application/xml", "application/*+xml", "application/javascript", "application/wasm",
	"application/x-ndjson", "image/svg+xml",
}

// Covers reports whether a body of that content type and length is compressed. The length is -1 if it is not known.
func (c *Compression) Covers(contentType []byte, length int64) bool {
	least := int64(c.MinSize)
	if least == 0 {
		least = defaultMinSize
	}
	if length >= 0 && length < least {
		return false
	}
	types := c.Types
	if len(types) == 0 {
		types = defaultTypes
	}
	name, _, _ := strings.Cut(string(contentType), ";")
	name = strings.ToLower(strings.TrimSpace(name))
	return slices.ContainsFunc(types, func(pattern string) bool {
		before, after, any := strings.Cut(pattern, "*")
		if !any {
			return name == pattern
		}
		return len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	})
}

// Check returns what is wrong with c and the field, or empty strings.
func (c *Compression) Check() (field, problem string) {
	for i, each := range c.Types {
		kind, name, ok := strings.Cut(each, "/")
		switch {
		case !ok || kind == "" || name == "" || strings.Contains(kind, "*") || strings.Count(name, "*") > 1 || strings.ContainsAny(each, "; ,\t") || each != strings.ToLower(each):
			return fmt.Sprintf("types[%d]", i), fmt.Sprintf("%q: write a content type in lower case, as application/json or text/*", each)
		case strings.HasPrefix(each, "application/grpc"):
			return fmt.Sprintf("types[%d]", i), fmt.Sprintf("%q: gRPC compresses its messages itself: leave it out", each)
		}
	}
	if c.MinSize < 0 {
		return "min_size", fmt.Sprintf("%d: write a size, or 0 for 1KiB", c.MinSize)
	}
	return "", ""
}
