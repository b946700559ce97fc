package cpu

import (
	"context"
	"fmt"
)

// For calls f for each element of s in order, with a pointer to the element. It checkpoints after every grain elements; a
// grain of 0 means 1. It returns the first error of f or ctx.
func For[T any](ctx context.Context, s []T, grain int, f func(*T) error) error {
	if grain < 0 {
		return fmt.Errorf("cpu: For with a grain of %d: want 0 for 1, or more", grain)
	}
	grain = max(grain, 1)
	for len(s) > 0 {
		n := min(grain, len(s))
		for i := range s[:n] {
			if err := f(&s[i]); err != nil {
				return err
			}
		}
		s = s[n:]
		if err := Checkpoint(ctx); err != nil {
			return err
		}
	}
	return nil
}
