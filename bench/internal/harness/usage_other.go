//go:build !linux

package harness

import (
	"errors"
	"time"
)

// Usage is how much CPU time was used up to a moment. It is known on Linux only.
type Usage struct{}

func usedByRun() (Usage, error) {
	return Usage{}, errors.New("harness: the CPU time of other programs is read on Linux only")
}

// Until returns zeros.
func (Usage) Until(Usage) (own time.Duration, foreign float64) { return 0, 0 }

// StealUntil returns 0.
func (Usage) StealUntil(Usage) float64 { return 0 }
