package jsonrpc

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/rpc/call"
)

const (
	timeoutField  = "ferry-timeout-ms"
	drainingField = "ferry-draining" // set in the responses of a server that drains
	trailerPrefix = "trailer-"
)

// metadataOf returns the metadata in fields: those whose names begin with prefix if trailer is set, otherwise all others.
func metadataOf(fields []h1conn.Field, trailer bool) (call.Metadata, error) {
	var m call.Metadata
	for _, f := range fields {
		name, inTrailer := strings.CutPrefix(f.Name, trailerPrefix)
		if inTrailer != trailer || call.Reserved(name) {
			continue
		}
		v := f.Value
		if strings.HasSuffix(name, call.BinarySuffix) {
			data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
			if err != nil {
				return nil, call.Errorf(call.InvalidArgument, "jsonrpc: header field %s is not base64: %.64q", name, v)
			}
			v = string(data)
		}
		m = append(m, call.Field{Name: name, Value: v})
	}
	return m, nil
}

// appendMetadata appends m to fields, each name behind prefix. It returns an error for a field that HTTP cannot carry.
func appendMetadata(fields []h1conn.Field, prefix string, m call.Metadata) ([]h1conn.Field, error) {
	for i := range m {
		f := &m[i]
		if err := f.Check(); err != nil {
			return fields, err
		}
		value := f.Value
		if strings.HasSuffix(f.Name, call.BinarySuffix) {
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		}
		fields = append(fields, h1conn.Field{Name: prefix + f.Name, Value: value})
	}
	return fields, nil
}

// maxResponseMetadata bounds the header and the trailer of a response, each in bytes, so that clients accept its head.
const maxResponseMetadata = maxHeader/2 - 2<<10

// checkResponseMetadata returns an error for metadata that the head of a response cannot carry.
func checkResponseMetadata(m call.Metadata) error {
	fields, err := appendMetadata(nil, trailerPrefix, m)
	if err != nil {
		return err
	}
	size := 0
	for _, f := range fields {
		if len(f.Name)+len(f.Value) > maxFieldLine {
			return call.Errorf(call.InvalidArgument, "jsonrpc: metadata %.64q of %d bytes: a field has at most %d", f.Name, len(f.Value), maxFieldLine)
		}
		size += len(f.Name) + len(f.Value) + len(": \r\n")
	}
	if size > maxResponseMetadata {
		return call.Errorf(call.InvalidArgument, "jsonrpc: metadata of %d bytes: at most %d travel with a response", size, maxResponseMetadata)
	}
	return nil
}

// formatTimeout writes the time until deadline, at least one millisecond.
func formatTimeout(deadline time.Time) string {
	ms := (time.Until(deadline) + time.Millisecond - 1).Milliseconds()
	return strconv.FormatInt(max(ms, 1), 10)
}

// maxTimeout bounds what a caller may ask for, so that adding it to a time cannot overflow.
const maxTimeout = 365 * 24 * time.Hour

// deadlineOf returns the deadline that a field asks for, or the zero time.
func deadlineOf(fields []h1conn.Field, name string) (time.Time, error) {
	text := h1conn.Get(fields, name)
	if text == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return time.Time{}, call.Errorf(call.InvalidArgument, "jsonrpc: header field %s is %.32q: want milliseconds", name, text)
	}
	return time.Now().Add(time.Duration(min(ms, uint64(maxTimeout/time.Millisecond))) * time.Millisecond), nil
}
