package traffic

import "bytes"

// The offsets in bytes of the parts of a traceparent. W3C Trace Context, section 3.2.2.
const (
	traceStart  = 3 // after the version (2 hex digits) and a dash
	traceEnd    = traceStart + 32
	parentStart = traceEnd + 1
	parentEnd   = parentStart + 16
	flagsStart  = parentEnd + 1
	traceparent = flagsStart + 2 // length in bytes of a traceparent of version 00
)

// TraceID returns the trace id in the value of a traceparent field: 32 hex digits, as a view of value. It returns nil
// if value is malformed. In a version later than 00, only the parts that version 00 defines are checked. W3C Trace
// Context, section 3.2.4.
func TraceID(value []byte) []byte {
	if len(value) < traceparent || value[traceStart-1] != '-' || value[traceEnd] != '-' || value[parentEnd] != '-' {
		return nil
	}
	version, id, parent := value[:traceStart-1], value[traceStart:traceEnd], value[parentStart:parentEnd]
	switch {
	case !isHex(version), !isHex(id), !isHex(parent), !isHex(value[flagsStart:traceparent]):
		return nil
	case isZero(id), isZero(parent), string(version) == "ff":
		return nil
	case len(value) > traceparent && (string(version) == "00" || value[traceparent] != '-'):
		return nil
	}
	return id
}

// isHex reports whether b consists of lower-case hex digits.
func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isZero(b []byte) bool { return bytes.Count(b, []byte{'0'}) == len(b) }
