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
