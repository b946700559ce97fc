package node

import (
	"errors"
	"fmt"

	"example.com/ferry/node/config"
)

// needsRestart refuses a change of a field.
func needsRestart(field string) error {
	return fmt.Errorf("%s: this change needs a restart: restart the node, or undo the change", field)
}

// needRestarts returns, by section, the changes that the running node refuses: those of the rules of config, and those that need a part
// that a node makes only when it starts.
func (n *Node) needRestarts(r *reload) map[string][]error {
	refused := map[string][]error{}
	add := func(section string, err error) {
		refused[section] = append(refused[section], &Refused{section, err})
	}
	for _, d := range r.last.Restarts(r.next) {
		add(d.Section, needsRestart(d.At))
	}
	switch {
	case (n.broker == nil) != (len(r.next.Listeners) == 0):
		add("listeners", needsRestart("listeners"))
	case n.broker != nil && n.streams == nil && len(r.next.Streams) > 0:
		add("streams", errors.New("streams: the first stream needs a restart: restart the node, or undo the change"))
	}
	if n.pool == nil && n.broker != nil {
		for i, f := range r.next.Functions {
			if f.CPU == config.Heavy {
				add("functions", fmt.Errorf("functions[%d].cpu: the first heavy function needs a restart: the node makes its pool, and prepares the process for it, when it starts", i))
			}
		}
	}
	return refused
}
