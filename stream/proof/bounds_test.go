//go:build linux && !proof

package proof

import "time"

// How long the tests run.
const (
	kills         = 4
	powerFailures = 3
	cutFor        = 3 * time.Second
	latencyRounds = 3

	maxLatencyRatio = 20.0 // the machine runs other tests
)
