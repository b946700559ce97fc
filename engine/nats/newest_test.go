package nats

import (
	"testing"

	"example.com/ferry/engine"
)

func TestNewestIn(t *testing.T) {
	t.Parallel()
	for first := range uint64(6) {
		for last := range uint64(12) {
			for newest := uint64(0); newest <= last+1; newest++ {
				got, err := newestIn(first, last, func(from uint64) (uint64, error) {
					if from > newest {
						return 0, engine.ErrNoRecord
					}
					return newest, nil
				})
				want := newest
				if newest < first || first > last {
					want = 0
				}
				if err != nil || got != want {
					t.Errorf("records up to %d, of %d to %d: got %d, %v", newest, first, last, got, err)
				}
			}
		}
	}
}
