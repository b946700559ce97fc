package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"example.com/ferry/format"
	"example.com/ferry/node/config"
)

// input has the flags of get, set and convert for their message, in a file or on standard input.
type input struct {
	schemaFlags
	File string      `arg:"" optional:"" help:"The file with the message. - or no file means standard input."`
	Max  config.Size `default:"64MiB" placeholder:"SIZE" help:"Refuse a larger message. The default is 64MiB."`
}

// read returns the whole message, which is never empty.
func (in *input) read(e *env) ([]byte, error) {
	r := e.stdin
	var data bytes.Buffer
	if in.File != "" && in.File != "-" {
		f, err := os.Open(in.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Size() <= int64(in.Max) { // allocate once for a large file
			data.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	_, err := data.ReadFrom(io.LimitReader(r, int64(min(in.Max, math.MaxInt64-1))+1))
	switch {
	case errors.Is(err, syscall.EISDIR):
		return nil, fmt.Errorf("%s is a directory: name a file with one message in it", in.name())
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", in.name(), err)
	case data.Len() == 0:
		return nil, fmt.Errorf("%s is empty: a message has at least one byte", in.name())
	case int64(data.Len()) > int64(in.Max):
		return nil, fmt.Errorf("%s holds more than %d bytes, the limit: raise it with --max", in.name(), int64(in.Max))
	}
	return data.Bytes(), nil
}

// message reads and validates one message of the named type. An empty name means to detect the type.
func (in *input) message(e *env, name string) (*message, error) {
	shape, err := in.load()
	if err != nil {
		return nil, err
	}
	data, err := in.read(e)
	if err != nil {
		return nil, err
	}
	m := &message{data: data, shape: shape}
	if name != "" {
		m.format = byName(withSchema(e.formats, shape), name)
		if err := m.format.Validate(data, format.Options{}); err != nil {
			return nil, fmt.Errorf("%s is no valid %s message: %w", in.name(), name, invalid(err, data))
		}
		return m, nil
	}
	if m.format, err = detect(e.formats, data); err != nil {
		return nil, fmt.Errorf("%s: %w", in.name(), err)
	}
	e.note("guessed that %s is %s", in.name(), m.format.Name())
	return m, nil
}

// invalid returns the error of Validate. For data that ends too early it adds the length of data.
func invalid(err error, data []byte) error {
	if err == io.ErrUnexpectedEOF { //nolint:errorlint // a wrapped one has the offset already
		return fmt.Errorf("%w: the message goes on behind the %d bytes there are", err, len(data))
	}
	return err
}

func (in *input) name() string {
	if in.File == "" || in.File == "-" {
		return "standard input"
	}
	return in.File
}
