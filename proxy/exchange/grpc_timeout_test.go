package exchange

import (
	"math"
	"testing"
	"time"
)

func TestGRPCTimeout(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"1H": time.Hour, "2M": 2 * time.Minute, "10S": 10 * time.Second, "100m": 100 * time.Millisecond, "5u": 5 * time.Microsecond,
		"0n": 0, "99999999n": 99999999, "99999999H": math.MaxInt64,
		"": -1, "S": -1, "1": -1, "1s": -1, "-1S": -1, "1.5S": -1, "+1S": -1, "100000000n": -1,
	} {
		got, ok := grpcTimeout([]byte(value))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
