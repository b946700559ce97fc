//go:build linux && proof

package proof

import "time"

// How long the tests run.
const (
	kills         = 50
	powerFailures = 30
	cutFor        = 5 * time.Minute
	latencyRounds = 15

	maxLatencyRatio = 1.1
)
