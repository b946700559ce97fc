//go:build attack

package interop

import "time"

// The size of the attacks of TestAttack in make attack.
const (
	attackTime    = time.Minute
	floodTime     = time.Minute // of TestAttackHTTP2 and its like
	attackClients = 2000
)

// fewPairings is set in make test.
const fewPairings = false
