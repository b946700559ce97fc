package route

import (
	"fmt"
	"reflect"
	"slices"
)

// keptLimits finds the buckets and budgets that the routes of a virtual host keep from the one before. A route keeps those of a route with
// the same Rule, whatever its name and its place: what is inserted before it refills nothing.
type keptLimits struct {
	prior   *virtualHost     // nil if there was none
	taken   []bool           // routes of prior whose limits another route has
	byMatch map[string][]int // routes of prior by what they match; nil until the first search
}

// keep gives r, which is route i and was compiled from rule, the bucket and the budget that it had.
func (k *keptLimits) keep(r *Route, i int, rule *Rule) {
	if k.prior == nil || r.Bucket == nil && r.Budget == nil {
		return
	}
	if k.taken == nil {
		k.taken = make([]bool, len(k.prior.rules))
	}
	if !k.is(i, rule) {
		if i = k.search(rule); i < 0 {
			return
		}
	}
	k.taken[i] = true
	r.Bucket, r.Budget = k.prior.routes[i].Bucket, k.prior.routes[i].Budget
}

// search returns the first route of prior with a Rule, or -1.
func (k *keptLimits) search(rule *Rule) int {
	if k.byMatch == nil {
		k.byMatch = map[string][]int{}
		for i, r := range k.prior.routes {
			if r.Bucket != nil || r.Budget != nil {
				text := matchText(k.prior.rules[i].Match)
				k.byMatch[text] = append(k.byMatch[text], i)
			}
		}
	}
	found := k.byMatch[matchText(rule.Match)]
	if at := slices.IndexFunc(found, func(i int) bool { return k.is(i, rule) }); at >= 0 {
		return found[at]
	}
	return -1
}

// is reports whether route i of prior has a Rule, and limits that no other route has taken.
func (k *keptLimits) is(i int, rule *Rule) bool {
	if i >= len(k.prior.rules) || k.taken[i] {
		return false
	}
	was, is := k.prior.rules[i], *rule
	was.Name, is.Name = "", ""
	return reflect.DeepEqual(was, is)
}

// matchText returns a text that is the same for equal conditions.
func matchText(m Match) string {
	payload := m.Payload
	m.Payload = nil // a pointer within a struct is printed as an address
	return fmt.Sprintf("%+v %+v", m, payload)
}
