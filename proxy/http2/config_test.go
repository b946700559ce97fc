package http2

import (
	"strings"
	"testing"
	"time"
)

func TestConfigIsChecked(t *testing.T) {
	if err := (&Config{}).Check(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	for want, c := range map[string]Config{
		"http2: stream_window":     {StreamWindow: 1 << 31},
		"http2: connection_window": {ConnectionWindow: 1000},
		"http2: max_header":        {MaxHeader: 10},
		"http2: upgrades[1]":       {Upgrades: []string{"websocket", "a b"}},
		"http2: trust_forwarded":   {TrustForwarded: true},
		"http2: via":               {Via: "a b"},
		"http2: max_requests":      {MaxRequests: -1},
		"http2: idle_timeout":      {IdleTimeout: time.Nanosecond},
	} {
		if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%+v: %v, want an error of %s", c, err, want)
		}
	}
}
