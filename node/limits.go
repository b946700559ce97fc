package node

import (
	"fmt"
	"strings"
)

// prepareLimits checks the limits of the broker. Others are read where they are used.
func (n *Node) prepareLimits(r *reload) (change, error) {
	fields := r.last.Changed(r.next, "limits")
	if len(fields) == 0 {
		return change{}, nil
	}
	c := change{what: strings.Join(fields, ", ")}
	if n.broker == nil {
		return c, nil
	}
	set, err := n.broker.PrepareLimits(brokerLimits(r.next.Limits))
	if err != nil {
		return change{}, fmt.Errorf("limits: %w", err)
	}
	c.commit = set
	return c, nil
}

// prepareDrain changes how the node ends: it reads the fields then.
func (n *Node) prepareDrain(r *reload) (change, error) {
	return change{what: strings.Join(r.last.Changed(r.next, "drain"), ", ")}, nil
}

// prepareLog changes the node's own log. A log that the program brought has a level of its own.
func (n *Node) prepareLog(r *reload) (change, error) {
	fields := r.last.Changed(r.next, "log")
	if len(fields) == 0 {
		return change{}, nil
	}
	return change{what: strings.Join(fields, ", "), commit: func() {
		if n.output != nil {
			n.output.set(r.next.Log)
		}
	}}, nil
}
