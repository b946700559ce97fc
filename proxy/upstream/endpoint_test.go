package upstream

import (
	"net/netip"
	"testing"

	"example.com/ferry/loop"
)

func TestAuthority(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		host string
		addr loop.Addr
		want string
	}{
		{"", loop.Addr{TCP: netip.MustParseAddrPort("127.0.0.1:80")}, "127.0.0.1:80"},
		{"", loop.Addr{TCP: netip.MustParseAddrPort("[fe80::1%eth0]:80")}, "[fe80::1]:80"},
		{"", loop.Addr{Unix: "/run/a.sock"}, "localhost"},
		{"web.example", loop.Addr{TCP: netip.MustParseAddrPort("127.0.0.1:8080")}, "web.example:8080"},
	} {
		e := Endpoint{addr: row.addr}
		e.host.Store(&row.host)
		if got := e.Authority(); got != row.want {
			t.Errorf("%q at %v: got %q, want %q", row.host, row.addr, got, row.want)
		}
	}
}
