package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"example.com/ferry/node/config"
)

// Plan is what a reload would do to a running node.
type Plan struct {
	Differences []config.Difference `json:"differences"`

	// Refused are the reasons for which the node would refuse the configuration.
	Refused []string `json:"refused,omitempty"`

	// Invalid is what is wrong in the files. Then there are no Differences.
	Invalid config.Errors `json:"invalid,omitempty"`
}

// Plan returns what a reload of a configuration would do. It compares, and binds and starts nothing. The values of ${...} are those of
// this process.
func (n *Node) Plan(b config.Bundle) (*Plan, error) {
	source := b.Source()
	next, err := source.Config(n.extensions.Program())
	var wrong config.Errors
	switch {
	case errors.As(err, &wrong):
		return &Plan{Invalid: wrong}, nil
	case err != nil:
		return nil, err
	}
	n.applying.Lock()
	defer n.applying.Unlock()
	r := &reload{last: n.config(), next: next}
	p := &Plan{Differences: r.last.Differences(next)}
	refused := n.needRestarts(r)
	for _, s := range n.sections() {
		for _, err := range refused[s.name] {
			p.Refused = append(p.Refused, err.Error())
		}
	}
	if err := n.planTokens(p, r); err != nil {
		p.Refused = append(p.Refused, err.Error())
	}
	for i := range p.Refused {
		p.Refused[i] = source.Hide(p.Refused[i])
	}
	return p, nil
}

// planTokens adds the identities whose token file has another token.
func (n *Node) planTokens(p *Plan, r *reload) error {
	if n.broker == nil {
		return nil
	}
	known, err := n.knownIdentities(r.next)
	if err != nil {
		return fmt.Errorf("identities: %w", err)
	}
	_, _, changed := known.Differences(n.identities)
	shown := r.last.Redacted()
	for i, id := range r.next.Identities {
		k := slices.IndexFunc(r.last.Identities, func(was config.Identity) bool { return was.Name == id.Name })
		for _, name := range changed {
			if name == id.Name && k >= 0 && reflect.DeepEqual(r.last.Identities[k], id) { // else it is listed
				p.Differences = append(p.Differences, config.Difference{
					Section: "identities", Entry: shown.Identities[k].Name, Field: "content of token_file", At: fmt.Sprintf("identities[%d].token_file", i),
					Kind: config.Changed, Effect: config.Applies, Note: config.RuleOf("identities[].token_file").Note,
				})
			}
		}
	}
	return nil
}

// planJSON is admin.Config.Plan.
func (n *Node) planJSON(body []byte) (any, error) {
	var b config.Bundle
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fmt.Errorf("the request is no bundle of files: %w", err)
	}
	return n.Plan(b)
}
