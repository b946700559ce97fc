package native_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
)

// TestListenAddresses listens by name, and on all addresses of the machine.
func TestListenAddresses(t *testing.T) {
	for _, addr := range []string{"localhost:0", ":0"} {
		l := listen(t, native.Protocol{}, tcp.New(nil), addr)
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := native.Protocol{}.Dial(t.Context(), tcp.New(nil), "127.0.0.1:"+port)
		if err != nil {
			t.Fatalf("%s: %v", addr, err)
		}
		var resp call.Response
		if err := conn.Call(t.Context(), &call.Head{Method: "echo.Echo.Say"}, []byte("x"), &resp); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
		resp.Release()
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestListenErrors(t *testing.T) {
	used := listen(t, native.Protocol{}, tcp.New(nil), "127.0.0.1:0").Addr().String()
	for _, each := range []struct {
		name      string
		transport transport.Transport
		addr      string
	}{
		{"in use", tcp.New(nil), used},
		{"no port", tcp.New(nil), "127.0.0.1"},
		{"unknown service", tcp.New(nil), "127.0.0.1:nothing"},
		{"no certificate", tcp.NewTLS(nil), "127.0.0.1:0"},
		{"no folder", unix.New(nil), filepath.Join(t.TempDir(), "missing", "s")},
	} {
		l, err := native.Protocol{}.Listen(t.Context(), each.transport, each.addr, echo{})
		if err == nil {
			_ = l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), each.addr) {
			t.Errorf("%s: got %v, want an error with %s", each.name, err, each.addr)
		}
	}
}
