//go:build linux && proof

package faults

import "time"

// How large the tests are in make proof.
const (
	crowd      = 100
	stoppedFor = 30 * time.Second
	floods     = 50
	kills      = 20
)
