package admin

import (
	"strings"
	"testing"

	"example.com/ferry/broker/calls"
)

func TestCallMetrics(t *testing.T) {
	t.Parallel()
	unknown := calls.ServiceStats{}
	unknown.Codes[12] = 3
	greeter := calls.ServiceStats{Name: "greeter.Greeter", Instances: 2, Active: 5, Waiting: 1}
	greeter.Codes[0], greeter.Codes[14], greeter.Latency.Counts[0] = 7, 1, 8
	_, url := start(t, Config{Services: func() []calls.ServiceStats { return []calls.ServiceStats{unknown, greeter} }})
	_, body := do(t, "GET", url+"/metrics")
	for _, want := range []string{
		`ferry_calls_total{code="OK",service="greeter.Greeter"} 7`,
		`ferry_calls_total{code="UNAVAILABLE",service="greeter.Greeter"} 1`,
		`ferry_calls_total{code="UNIMPLEMENTED",service="other"} 3`,
		`ferry_calls_in_progress{service="greeter.Greeter"} 5`,
		`ferry_calls_waiting{service="greeter.Greeter"} 1`,
		`ferry_call_instances{service="greeter.Greeter"} 2`,
		`ferry_call_seconds_count{service="greeter.Greeter"} 8`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
}
