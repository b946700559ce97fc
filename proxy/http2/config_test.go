package http2

import (
	"strings"
	"testing"

	"example.com/ferry/proxy/exchange"
)

func TestConfigIsChecked(t *testing.T) {
	if err := (&Config{}).Check(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	for want, c := range map[string]Config{
		"http2: stream_window":     {StreamWindow: 1 << 31},
		"http2: connection_window": {ConnectionWindow: 1000},
		"http2: max_header":        {MaxHeader: 10},
		"http2: via":               {HTTPConfig: exchange.HTTPConfig{Via: "a b"}}, // package http1 tests all that it has in common with this one
	} {
		if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%+v: %v, want an error of %s", c, err, want)
		}
	}
}
