//go:build linux && proof

package faults

import "time"

// How large the tests are in make proof.
const (
	crowd      = 5000
	stoppedFor = 30 * time.Second
	floods     = 200
	kills      = 20
)
