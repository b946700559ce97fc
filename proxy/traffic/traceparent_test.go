package traffic_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"example.com/ferry/proxy/traffic"
)

// The example of W3C Trace Context, section 3.2.3.
const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

func TestTraceID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"the standard's", traceparent, traceID},
		{"not sampled", traceparent[:54] + "0", traceID},
		{"unknown flags", traceparent[:53] + "ff", traceID},
		{"a later version", "cc" + traceparent[2:], traceID},
		{"a later version with more", "cc" + traceparent[2:] + "-what-comes", traceID},
		{"a later version, glued", "cc" + traceparent[2:] + "1", ""},
		{"version 00 with more", traceparent + "-1", ""},
		{"version ff", "ff" + traceparent[2:], ""},
		{"no version", "0g" + traceparent[2:], ""},
		{"empty", "", ""},
		{"upper case", strings.ToUpper(traceparent), ""},
		{"trace id of zeros", "00-" + strings.Repeat("0", 32) + traceparent[35:], ""},
		{"parent id of zeros", traceparent[:36] + strings.Repeat("0", 16) + "-01", ""},
		{"no hex in the trace id", strings.Replace(traceparent, "4bf", "4bg", 1), ""},
		{"no hex in the parent id", strings.Replace(traceparent, "67aa", "67 a", 1), ""},
		{"no hex in the flags", traceparent[:54] + "x", ""},
		{"another separator", strings.ReplaceAll(traceparent, "-", "_"), ""},
		{"space before", " " + traceparent, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := traffic.TraceID([]byte(c.value)); string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for n := range traceparent {
		if got := traffic.TraceID([]byte(traceparent[:n])); got != nil {
			t.Errorf("cut to %d bytes: got %q, want none", n, got)
		}
	}
}

func FuzzTraceID(f *testing.F) {
	f.Add([]byte(traceparent))
	f.Add([]byte("cc" + traceparent[2:] + "-more"))
	valid := regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-(?s:.*))?$`)
	f.Fuzz(func(t *testing.T, value []byte) {
		var want []byte
		if m := valid.FindSubmatch(value); m != nil && string(m[1]) != "ff" && (string(m[1]) != "00" || m[4] == nil) &&
			len(bytes.Trim(m[2], "0")) > 0 && len(bytes.Trim(m[3], "0")) > 0 {
			want = m[2]
		}
		if got := traffic.TraceID(value); !bytes.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	})
}
