package native

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

// Names of metadata that have types of their own on the wire.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// traceContextSize is the length of a trace context on the wire, in bytes; its text has more.
const traceContextSize = 26

// maxFields bounds the metadata of a call. A field of five bytes on the wire takes about ten times its length in memory.
const maxFields = 128

func tooManyFields() error {
	return call.Errorf(call.InvalidArgument, "metadata of more than %d fields", maxFields)
}

// appendMetadata appends metadata as entries of type t.
func appendMetadata(ext []byte, t wire.TLV, md call.Metadata) ([]byte, error) {
	if len(md) > maxFields {
		return ext, tooManyFields()
	}
	for _, f := range md {
		if err := checkField(&f); err != nil {
			return ext, err
		}
		if t == wire.TLVMetadata {
			if f.Name == traceParent {
				if parent, ok := parseTraceParent(f.Value); ok {
					ext = wire.AppendTLV(ext, wire.TLVTraceContext, parent[:])
					continue
				}
			}
			if f.Name == traceState {
				ext = wire.AppendTLV(ext, wire.TLVTraceState, f.Value)
				continue
			}
		}
		ext = wire.AppendNamedTLV(ext, t, f.Name, f.Value)
	}
	if len(ext) > wire.MaxCallExtension {
		return ext, &call.Status{Code: call.InvalidArgument, Message: fmt.Sprintf("metadata of %d bytes: at most %d travel with a call", len(ext), wire.MaxCallExtension)}
	}
	return ext, nil
}

// checkField returns a *call.Status if f is not valid, or too long for the wire.
func checkField(f *call.Field) error {
	if len(f.Name) > 255 || len(f.Name)+len(f.Value) >= wire.MaxTLV {
		return call.Errorf(call.InvalidArgument, "metadata %.80q of %d bytes is too long", f.Name, len(f.Value))
	}
	return f.Valid()
}

// parseTraceParent returns the trace context that a traceparent of 55 characters stands for. ok is false if formatting it would not
// give the same text.
func parseTraceParent(text string) (parent [traceContextSize]byte, ok bool) {
	if len(text) != 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return parent, false
	}
	digits := text[:2] + text[3:35] + text[36:52] + text[53:]
	_, err := hex.Decode(parent[:], []byte(digits))
	return parent, err == nil && formatTraceParent(parent[:]) == text
}

func formatTraceParent(p []byte) string {
	return fmt.Sprintf("%02x-%x-%x-%02x", p[0], p[1:17], p[17:25], p[25])
}

// parseMetadata returns the metadata of type t in an extension. The error is a *wire.Error or a *call.Status.
func parseMetadata(ext []byte, t wire.TLV) (md call.Metadata, err error) {
	if len(ext) == 0 {
		return nil, nil
	}
	if err := wire.CheckTLVs(ext); err != nil {
		return nil, err
	}
	for typ, value := range wire.TLVs(ext) {
		var f call.Field
		switch {
		case typ == t:
			name, rest, _ := wire.NamedTLV(value)
			f = call.Field{Name: string(name), Value: string(rest)}
		case typ == wire.TLVTraceContext && t == wire.TLVMetadata && len(value) == traceContextSize:
			f = call.Field{Name: traceParent, Value: formatTraceParent(value)}
		case typ == wire.TLVTraceState && t == wire.TLVMetadata:
			f = call.Field{Name: traceState, Value: string(value)}
		default:
			continue
		}
		if err := checkField(&f); err != nil {
			return nil, err
		}
		if len(md) == maxFields {
			return nil, tooManyFields()
		}
		md = append(md, f)
	}
	return md, nil
}

// callerNumber returns the number that a caller beyond a node has given to its call, or 0.
func callerNumber(ext []byte) uint64 {
	for t, value := range wire.TLVs(ext) {
		if t == wire.TLVNumber && len(value) == 4 {
			return uint64(binary.BigEndian.Uint32(value))
		}
	}
	return 0
}

// entryOverhead is at least what an entry of an extension takes beside its name and value, in bytes.
const entryOverhead = 8

// appendStatus appends a status without its code, as far as it fits into room bytes.
func appendStatus(ext []byte, s *call.Status, room int) []byte {
	if s == nil {
		return ext
	}
	s = s.Fit(call.Room{
		Bytes:   room - entryOverhead,
		Message: wire.MaxTLV,
		Detail: func(d *call.Detail) int {
			if len(d.Type) > 255 || len(d.Type)+len(d.Value) >= wire.MaxTLV {
				return wire.MaxCallExtension + 1
			}
			return len(d.Type) + len(d.Value) + entryOverhead
		},
	})
	if s.Message != "" {
		ext = wire.AppendTLV(ext, wire.TLVMessage, s.Message)
	}
	for _, d := range s.Details {
		ext = wire.AppendNamedTLV(ext, wire.TLVDetail, d.Type, d.Value)
	}
	return ext
}

// parseStatus returns the status of a REPLY, or nil for OK.
func parseStatus(r *wire.ReplyFrame) *call.Status {
	if r.Code == 0 {
		return nil
	}
	s := &call.Status{Code: call.Code(r.Code)}
	for t, value := range wire.TLVs(r.Extension) {
		switch t {
		case wire.TLVMessage:
			s.Message = string(value)
		case wire.TLVDetail:
			if name, rest, ok := wire.NamedTLV(value); ok {
				s.Details = append(s.Details, call.Detail{Type: string(name), Value: append([]byte(nil), rest...)})
			}
		}
	}
	return s
}

// timeout returns the milliseconds until at, rounded up, for CALL. ok is false if at has passed.
func timeout(at time.Time) (ms uint32, ok bool) {
	if at.IsZero() {
		return 0, true
	}
	left := time.Until(at)
	if left <= 0 {
		return 0, false
	}
	return uint32(min((left+time.Millisecond-1)/time.Millisecond, math.MaxUint32)), true
}

var compressionNames = [...]string{wire.Uncompressed: "", wire.Gzip: "gzip", wire.Zstd: "zstd"}

// compressionNumber returns the number of a compression on the wire.
func compressionNumber(name string) (uint8, bool) {
	for i, n := range compressionNames {
		if n == name {
			return uint8(i), true
		}
	}
	return 0, false
}
