package traffic_test

import (
	"testing"

	"example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/traffic"
)

func TestCode(t *testing.T) {
	t.Parallel()
	var none traffic.Code
	for _, c := range []struct {
		code traffic.Code
		want string
	}{
		{none, "canceled"},
		{traffic.HTTP(101), "1xx"},
		{traffic.HTTP(200), "2xx"},
		{traffic.HTTP(404), "4xx"},
		{traffic.HTTP(599), "5xx"},
		{traffic.HTTP(99), "other"},
		{traffic.HTTP(600), "other"},
		{traffic.HTTP(-200), "other"},
		{traffic.Bolt(bolt.StatusSuccess), "success"},
		{traffic.Bolt(bolt.StatusNoProcessor), "no_processor"},
		{traffic.Bolt(bolt.StatusDeserial), "server_deserial_exception"},
		{traffic.Bolt(0xffff), "other"},
		{traffic.GRPC(0), "grpc_ok"},
		{traffic.GRPC(14), "grpc_unavailable"},
		{traffic.GRPC(16), "grpc_unauthenticated"},
		{traffic.GRPC(17), "grpc_unknown"},
		{traffic.GRPC(-1), "grpc_unknown"},
		{traffic.GRPC(16) + 1, "other"},
	} {
		if got := c.code.String(); got != c.want {
			t.Errorf("code %d is %s, want %s", c.code, got, c.want)
		}
	}
	seen := map[string]traffic.Code{}
	for s := range bolt.StatusDeserial + 1 {
		c := traffic.Bolt(s)
		if before, ok := seen[c.String()]; ok {
			t.Errorf("codes %d and %d are both %s", before, c, c)
		}
		seen[c.String()] = c
	}
}

// The gRPC statuses that mean what 5xx means are failures. A Code knows its gRPC status.
func TestGRPCCode(t *testing.T) {
	t.Parallel()
	failures := map[int]bool{2: true, 4: true, 12: true, 13: true, 14: true, 15: true}
	for status := range 17 {
		c := traffic.GRPC(status)
		if got, ok := c.GRPCStatus(); got != status || !ok || c.Failed() != failures[status] {
			t.Errorf("%s: gRPC status %d, %v, failed %v; want %d, true, %v", c, got, ok, c.Failed(), status, failures[status])
		}
	}
	for _, c := range []traffic.Code{0, traffic.HTTP(200), traffic.Bolt(bolt.StatusTimeout), traffic.HTTP(999), traffic.GRPC(16) + 1} {
		if status, ok := c.GRPCStatus(); ok {
			t.Errorf("%s has gRPC status %d, want none", c, status)
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for why, want := range map[traffic.Refusal]string{
		traffic.Forwarded: "forwarded", traffic.BadRequest: "bad_request", traffic.NoRoute: "no_route",
		traffic.RateLimited: "rate_limited", traffic.NoEndpoint: "no_endpoint", traffic.Overload: "overload",
	} {
		if got := why.String(); got != want {
			t.Errorf("refusal %d is %s, want %s", why, got, want)
		}
	}
}
