package http1

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		field string
		c     Config
	}{
		{"limits", Config{Limits: wire.Limits{MaxHead: -1}}},
		{"upgrades[1]", Config{HTTPConfig: exchange.HTTPConfig{Upgrades: []string{"websocket", ""}}}},
		{"trust_forwarded", Config{HTTPConfig: exchange.HTTPConfig{TrustForwarded: true}}},
		{"via", Config{HTTPConfig: exchange.HTTPConfig{Via: "a b"}}},
		{"max_requests", Config{HTTPConfig: exchange.HTTPConfig{MaxRequests: -1}}},
		{"header_timeout", Config{HTTPConfig: exchange.HTTPConfig{HeaderTimeout: 8761 * time.Hour}}},
		{"idle_timeout", Config{HTTPConfig: exchange.HTTPConfig{IdleTimeout: 8761 * time.Hour}}},
		{"body_timeout", Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: 1<<63 - 1}}},
	} {
		var es invalid.Errors
		if err := row.c.Check(); !errors.As(err, &es) || len(es) != 1 || es[0].Field != row.field {
			t.Errorf("%s: got %v", row.field, err)
		}
	}
	good := Config{HTTPConfig: exchange.HTTPConfig{HeaderTimeout: -1, IdleTimeout: time.Second, ForwardedFor: true, TrustForwarded: true, Via: "ferry.example", MaxRequests: 1}}
	for _, c := range []Config{{}, good} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestNoPlan connects before the service has a plan.
func TestNoPlan(t *testing.T) {
	r := start(t, setup{servers: []string{"127.0.0.1:1"}})
	ln, err := r.Group.Listen(anyPort, New(nil, 2).Accept)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err == nil {
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(patience))
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}
