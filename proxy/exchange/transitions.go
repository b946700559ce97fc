package exchange

import (
	"fmt"
	"slices"
)

// CheckTransitions makes Transitions.Enter panic on a transition that the table does not have. Only tests set it.
var CheckTransitions bool

// Transitions has the name of each state, and the states that may follow it.
type Transitions[S ~uint8] []struct {
	Name string
	Next []S
}

// Enter changes the state of an object, whose name is for the panic if it may not go from the one state to the other.
func (t Transitions[S]) Enter(object string, state *S, next S) {
	if CheckTransitions && !slices.Contains(t[*state].Next, next) {
		panic(fmt.Sprintf("%s goes from %s to %s", object, t[*state].Name, t[next].Name))
	}
	*state = next
}
