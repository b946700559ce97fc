package transport_test

import (
	"testing"

	"example.com/ferry/transport"
)

func TestDescriptorChecksAddresses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		d          transport.Descriptor
		addr, want string
	}{
		{transport.QUIC, "127.0.0.1:4190", ""},
		{transport.TCP, "[::]:0", ""},
		{transport.TLS, "edge-1", "has no port: write HOST:PORT"},
		{transport.TCP, "edge-1:70000", "has a port that is not 0 to 65535"},
		{transport.TCP, "edge-1:http", "has a port that is not 0 to 65535"},
		{transport.Unix, "/run/ferry.sock", ""},
		{transport.WS, "edge-1:80", ""},
		{transport.WSS, "edge-1:443/ferry/in", ""},
		{transport.WS, "edge-1/ferry", "has no port: write HOST:PORT"},
		{transport.TCP, "edge-1:80/ferry", "has a port that is not 0 to 65535"},
		{transport.Unix, "", "has no path: write unix://ferry.sock"},
	} {
		got := ""
		if err := row.d.CheckAddress(row.addr); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s %q: got %q, want %q", row.d.Syntax(), row.addr, got, row.want)
		}
	}
}
