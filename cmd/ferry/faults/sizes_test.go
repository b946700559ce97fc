//go:build linux && !proof

package faults

import "time"

// How large the tests are in make test.
const (
	crowd      = 100             // clients that connect and do nothing, for each listener
	stoppedFor = 5 * time.Second // how long the process is stopped
	floods     = 8               // clients of each kind that flood the admin server
	kills      = 2               // times that the process is killed
)
