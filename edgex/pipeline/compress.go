package pipeline

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
)

// CompressConfig configures the compression of messages.
type CompressConfig struct {
	// Algorithm is gzip (RFC 1952) or zlib (RFC 1950).
	Algorithm string `yaml:"algorithm"`

	// Level is from 1, fastest, to 9, smallest. Zero means the library's default.
	Level int `yaml:"level,omitempty"`

	// Raw omits the base64 encoding of the compressed bytes, which EdgeX uses.
	Raw bool `yaml:"raw,omitempty"`
}

// Compress compresses each message. Messages in every form are accepted. It reads all bytes of the message.
func Compress(c CompressConfig) (Step, error) {
	level := c.Level
	if level < 0 || level > gzip.BestCompression {
		return nil, fmt.Errorf("pipeline: compression level %d: want 1 to 9, or 0 for the default", level)
	}
	if level == 0 {
		level = gzip.DefaultCompression
	}
	z := &compressor{raw: c.Raw}
	var err error
	switch c.Algorithm {
	case "gzip":
		z.writer, err = gzip.NewWriterLevel(&z.out, level)
	case "zlib":
		z.writer, err = zlib.NewWriterLevel(&z.out, level)
	default:
		return nil, fmt.Errorf("pipeline: compression %q: want gzip or zlib", c.Algorithm)
	}
	if err != nil {
		return nil, fmt.Errorf("pipeline: compress: %w", err)
	}
	return z, nil
}

type compressor struct {
	writer interface { // the methods that the writers of gzip and zlib have in common
		io.WriteCloser
		Reset(w io.Writer)
	}
	out bytes.Buffer
	raw bool
}

// Run replaces m with its compressed bytes.
func (z *compressor) Run(m *Message) (bool, error) {
	z.out.Reset()
	z.writer.Reset(&z.out)
	if _, err := z.writer.Write(m.data); err != nil {
		return false, err
	}
	if err := z.writer.Close(); err != nil {
		return false, err
	}
	if z.raw {
		m.SetBytes(z.out.Bytes())
		return true, nil
	}
	out, err := m.rewrite(func(dst []byte) ([]byte, error) {
		return base64.StdEncoding.AppendEncode(dst, z.out.Bytes()), nil
	})
	m.SetBytes(out)
	return err == nil, err
}
