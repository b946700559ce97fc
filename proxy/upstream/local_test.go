package upstream_test

import (
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

// Outcomes that say nothing about an endpoint neither eject the endpoint nor reset its count of failures.
func TestNotTheEndpointsFault(t *testing.T) {
	t.Parallel()
	for _, o := range []upstream.Outcome{upstream.Canceled, upstream.LocalFailure} {
		c := cluster(t, ejecting(2, upstream.Outlier{Failures: 2}))
		e := pick(t, c, 0, nil)
		e.Done(o, time.Second, 0)
		only(t, c, e, 5, o)
		if !asked(t, c)[e] {
			t.Fatalf("%v: ejected", o)
		}
		if got := c.Snapshot().Endpoints[0].Latency + c.Snapshot().Endpoints[1].Latency; got != 0 {
			t.Errorf("%v: the latency is %v, want none", o, got)
		}
		only(t, c, e, 1, upstream.ConnectFailure)
		only(t, c, e, 1, o)
		only(t, c, e, 1, upstream.ConnectFailure)
		if asked(t, c)[e] {
			t.Errorf("%v: two failures in a row, but for it, do not eject", o)
		}
	}
}
