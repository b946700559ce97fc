//go:build !attack

package interop

import "time"

// The size of the attacks of TestAttack in make test.
const (
	attackTime    = 1500 * time.Millisecond
	attackClients = 200
)
