package exchange

import (
	"fmt"
	"slices"
)

// CheckTransitions makes Transitions.Check panic on a transition that the table does not have. Only tests set it.
var CheckTransitions bool

// Transitions has the name of each state, and the states that may follow it.
type Transitions[S ~uint8] []struct {
	Name string
	Next []S
}

// Check panics if an object may not go from one state to another. object is its name.
func (t Transitions[S]) Check(object string, from, to S) {
	if CheckTransitions && !slices.Contains(t[from].Next, to) {
		panic(fmt.Sprintf("%s goes from %s to %s", object, t[from].Name, t[to].Name))
	}
}
