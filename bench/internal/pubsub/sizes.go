package pubsub

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// Size is a case of a question: the size of a message, and how many messages a measurement with a budget of 50 ms sends at full speed.
type Size struct {
	Name  string
	Bytes int
	Count int
}

// Messages returns the number of messages that a measurement with a budget sends at full speed.
func (s Size) Messages(budget time.Duration) int {
	return max(100, int(float64(s.Count)*Scale(budget)))
}

// Scale returns a budget as a multiple of 50 ms.
func Scale(budget time.Duration) float64 { return float64(budget) / float64(50*time.Millisecond) }

// Sizes are the cases of a question.
type Sizes []Size

// Measure returns the function of a harness.Contender that calls measure with the size of the case.
func (all Sizes) Measure(question string, measure func(s Size, budget time.Duration) (harness.Figures, error)) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		for _, s := range all {
			if s.Name == name {
				return measure(s, budget)
			}
		}
		return nil, fmt.Errorf("%s: no case %q", question, name)
	}
}

// Check sends 100 messages of each size through what start has started, and then calls further, unless it is nil.
func (all Sizes) Check(start func(Size) (*Run, error), further func(*Run) error) error {
	for _, s := range all {
		c, err := start(s)
		if err != nil {
			return err
		}
		_, err = c.Closed(100)
		if err == nil && further != nil {
			err = further(c)
		}
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
