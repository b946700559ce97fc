package route

import (
	"fmt"
	"reflect"

	"example.com/ferry/internal/pace"
)

// keptLimits finds the buckets and budgets that the routes of a virtual host keep from the one before. A route keeps those of a route with
// the same Rule, whatever its name and its place: what is inserted before it refills nothing.
type keptLimits struct {
	prior   *virtualHost     // nil if there was none
	taken   []bool           // routes of prior whose limits another route has
	shift   int              // how much further in prior the last route was found
	byMatch map[matchKey]int // routes of prior by what they match; nil until the first search
}

// keep gives r, which is route i and was compiled from rule, the bucket and the budget that it had.
func (k *keptLimits) keep(r *Route, i int, rule *Rule) {
	if k.prior == nil || r.Bucket == nil && r.Budget == nil {
		return
	}
	if k.taken == nil {
		k.taken = make([]bool, len(k.prior.rules))
	}
	at := i + k.shift
	if !k.is(at, rule) {
		if at = k.search(rule); at < 0 {
			return
		}
		k.shift = at - i
	}
	k.taken[at] = true
	r.Bucket, r.Budget = k.prior.routes[at].Bucket, k.prior.routes[at].Budget
}

// search returns the route of prior with a Rule, or -1. Of the routes that match the same, it finds the first: the others got no requests.
func (k *keptLimits) search(rule *Rule) int {
	if k.byMatch == nil {
		k.byMatch = map[matchKey]int{}
		for i, r := range k.prior.routes {
			key := newMatchKey(&k.prior.rules[i].Match)
			if _, known := k.byMatch[key]; !known && (r.Bucket != nil || r.Budget != nil) {
				k.byMatch[key] = i
			}
			pace.Step()
		}
	}
	if at, ok := k.byMatch[newMatchKey(&rule.Match)]; ok && k.is(at, rule) {
		return at
	}
	return -1
}

// is reports whether route i of prior has a Rule, and limits that no other route has taken.
func (k *keptLimits) is(i int, rule *Rule) bool {
	if i < 0 || i >= len(k.prior.rules) || k.taken[i] {
		return false
	}
	was, is := k.prior.rules[i], *rule
	was.Name, is.Name = "", ""
	return reflect.DeepEqual(&was, &is)
}

// matchKey is the same for equal conditions.
type matchKey struct {
	path, prefix, segmentPrefix, regex, serverName, clientIdentity string

	bolt Bolt
	rest string
}

func newMatchKey(m *Match) matchKey {
	key := matchKey{m.Path, m.Prefix, m.SegmentPrefix, m.Regex, m.ServerName, m.ClientIdentity, m.Bolt, ""}
	if len(m.Methods)+len(m.Headers)+len(m.Query) > 0 || m.Payload != nil {
		key.rest = fmt.Sprintf("%#v %#v %#v %#v", m.Methods, m.Headers, m.Query, m.Payload)
	}
	return key
}
