package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"example.com/ferry/format"
	"example.com/ferry/node/config"
)

// input is a message in a file or on standard input: the part that get, set and convert share.
type input struct {
	schemaFlags
	File string      `arg:"" optional:"" help:"The message; - or nothing is standard input."`
	Max  config.Size `default:"64MiB" placeholder:"SIZE" help:"Refuse a larger message, 64MiB if not said otherwise."`
}

// read returns the whole message, which is never empty.
func (in *input) read(e *env) ([]byte, error) {
	r := e.stdin
	if in.File != "" && in.File != "-" {
		f, err := os.Open(in.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(min(in.Max, math.MaxInt64-1))+1))
	switch {
	case errors.Is(err, syscall.EISDIR):
		return nil, fmt.Errorf("%s is a directory: name a file with one message in it", in.name())
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", in.name(), err)
	case len(data) == 0:
		return nil, fmt.Errorf("%s is empty: a message has at least one byte", in.name())
	case int64(len(data)) > int64(in.Max):
		return nil, fmt.Errorf("%s holds more than the %v that --max allows", in.name(), in.Max)
	}
	return data, nil
}

// message reads and validates one message of the type named, or guessed if none is.
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
		m.format = byName(withShape(e.formats, shape), name)
		if err := m.format.Validate(data, format.Options{}); err != nil {
			return nil, fmt.Errorf("%s is no valid %s message: %w", in.name(), name, err)
		}
		return m, nil
	}
	if m.format, err = guess(e.formats, data); err != nil {
		return nil, fmt.Errorf("%s: %w", in.name(), err)
	}
	e.note("guessed that %s is %s", in.name(), m.format.Name())
	return m, nil
}

func (in *input) name() string {
	if in.File == "" || in.File == "-" {
		return "standard input"
	}
	return in.File
}
