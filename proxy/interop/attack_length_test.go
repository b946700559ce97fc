//go:build !attack

package interop

import "time"

// The size of the attacks of TestAttack in make test.
const (
	attackTime    = 1500 * time.Millisecond
	attackClients = 200
	floodTime     = 300 * time.Millisecond
)

// fewPairings is set in make test: of the pairings of clients and servers, it runs those that differ most.
const fewPairings = true
