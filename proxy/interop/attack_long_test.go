//go:build attack

package interop

import (
	"flag"
	"time"
)

// The size of the attacks in make attack.
const (
	attackTime    = time.Minute
	attackClients = 2000
	floodTime     = 10 * time.Second // of each row of TestAttackHTTP2
)

var (
	leaked = flag.Int64("connections", 1_000_000, "connections that TestLeaks opens and closes")
	mixed  = flag.Duration("mixed", time.Hour, "time of TestMixedLoad")
)

func leakVisits() int64 { return *leaked }

func mixedTime() time.Duration { return *mixed }

// fewPairings is set in make test.
const fewPairings = false

// The length of TestSoak, and the mean time between two interruptions of a server.
const (
	soakTime         = 10 * time.Minute
	soakInterruption = 4 * time.Second
)
