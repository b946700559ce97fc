package traffic

import "bytes"

// Offsets of the parts of a traceparent, in bytes. W3C Trace Context, section 3.2.2.
const (
	traceStart  = 3 // behind the version, 2 hex digits, and a dash
	traceEnd    = traceStart + 32
	parentStart = traceEnd + 1
	parentEnd   = parentStart + 16
	flagsStart  = parentEnd + 1
	traceparent = flagsStart + 2 // its length in version 00
)

// TraceID returns the trace id in the value of a traceparent field: 32 hex digits, a view. It is nil if value is malformed. Of a
// later version than 00, only the parts that version 00 defines are read. W3C Trace Context, section 3.2.4.
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

// isHex reports whether b is hex digits, lower case.
func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isZero(b []byte) bool { return bytes.Count(b, []byte{'0'}) == len(b) }
