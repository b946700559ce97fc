//go:build !attack

package interop

import "time"

// The size of the attacks in make test.
const (
	attackTime    = 1500 * time.Millisecond
	attackClients = 200
	floodTime     = 300 * time.Millisecond // of TestAttackHTTP2
)

// leakVisits is the number of connections of TestLeaks.
func leakVisits() int64 { return 3000 }

// mixedTime is how long TestMixedLoad lasts.
func mixedTime() time.Duration { return 1500 * time.Millisecond }

// fewPairings is set in make test: of the pairings of clients and servers, it runs those that differ most.
const fewPairings = true

// The length of TestSoak, and the mean time between two interruptions of a server.
const (
	soakTime         = 10 * time.Second
	soakInterruption = time.Second
)
