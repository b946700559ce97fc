package field

import (
	"slices"
	"strconv"
)

// family is rules that have the same paths and the same guards. A mismatch of a guard is counted for all rules of a
// family at once if their tests show that it is reached. Otherwise all rules of the family are run.
type family struct {
	slot        int
	key         string
	combination *combination
	members     []*indexedRule
	guards      []guard

	first       *attribute // of the first test; nil if that is exists
	conjunctive bool       // a rule does not hold if its first test does not hold
	negated     bool       // a rule may hold because of a mismatch, without being found
	unordered   bool       // a rule may hold because of NaN, without being found
	lead        *Test      // first test of all members, if they share it
	leadColumn  uint32
	second      *attribute // of the second test of a conjunction whose first test is lead; nil if it has none
	unindexed   int        // index in Index.unindexed; -1 if the members have accesses
}

// guard is the place of a family in the list of one of its guards.
type guard struct {
	attribute *attribute
	at        int // index in attribute.guarded
}

func (f *family) add(r *indexedRule) {
	r.family, r.member = f, len(f.members)
	f.members = append(f.members, r)
}

// familyOf returns the family of a rule with cover c. It creates the family if necessary.
func (x *Index) familyOf(r *indexedRule, c cover) *family {
	tests := r.predicate.tests
	f := &family{combination: r.combination, unindexed: -1, negated: c.negated, unordered: c.unordered}
	attributes := coverer{x, r}
	if !tests[0].Exists {
		f.first = attributes.attribute(0)
	}
	join, isJoin := r.predicate.root.(logicalExpression)
	parts := []expression{r.predicate.root}
	if isJoin {
		parts = join.parts
	}
	_, startsWithTest := parts[0].(Test)
	f.conjunctive = startsWithTest && (!isJoin || join.isAnd)
	shared := false
	if len(c.keys) == 0 {
		shared = tests[0].Then == Reject || tests[0].Else == Reject
	} else {
		shared = f.conjunctive && tests[0].operator == equal && len(c.guards) > 1
		if len(parts) > 1 {
			if t, isTest := parts[1].(Test); shared && isTest && !t.Exists {
				f.second = attributes.attribute(1)
			}
		}
	}
	var guards []*attribute
	for _, n := range c.guards {
		if a := attributes.attribute(n); !slices.Contains(guards, a) {
			guards = append(guards, a)
		}
	}
	key := strconv.AppendInt(nil, int64(r.combination.slot), 10)
	key = append(key, boolByte(f.conjunctive), boolByte(len(c.keys) > 0), boolByte(f.negated), boolByte(f.unordered))
	key = f.first.appendKey(key)
	key = f.second.appendKey(key)
	for _, a := range guards {
		key = a.appendKey(key)
	}
	if shared {
		t := &tests[0]
		key = strconv.AppendInt(append(key, 'L', byte(t.operator), boolByte(t.Then == Reject), boolByte(t.Else == Reject)), int64(r.columns[0]), 10)
		key = append(key, t.literal()...)
	}
	if known := x.families[string(key)]; known != nil {
		return known
	}
	if shared {
		lead := tests[0]
		f.lead, f.leadColumn = &lead, r.columns[0]
	}
	f.key = string(key)
	x.families[f.key] = f
	f.slot = x.familySlots.add(f)
	for i, a := range guards {
		f.guards = append(f.guards, guard{a, len(a.guarded)})
		a.guarded = append(a.guarded, guardedFamily{f, i})
	}
	if len(c.keys) == 0 {
		f.unindexed = len(x.unindexed)
		x.unindexed = append(x.unindexed, f)
	}
	return f
}

func (a *attribute) appendKey(key []byte) []byte {
	if a == nil {
		return append(key, '-')
	}
	return strconv.AppendInt(append(key, 'A', byte(a.kind)), int64(a.column), 10)
}

func boolByte(v bool) byte { return byte('0' + boolIndex(v)) }

// removeMember removes r from its family. It removes the family with its last member.
func (x *Index) removeMember(r *indexedRule) {
	f := r.family
	last := len(f.members) - 1
	f.members[r.member] = f.members[last]
	f.members[r.member].member = r.member
	f.members[last] = nil
	if f.members = f.members[:last]; last > 0 {
		return
	}
	delete(x.families, f.key)
	x.familySlots.remove(f.slot)
	for _, g := range f.guards {
		list := g.attribute.guarded
		moved := list[len(list)-1]
		list[g.at] = moved
		moved.family.guards[moved.guard].at = g.at
		list[len(list)-1] = guardedFamily{}
		g.attribute.guarded = list[:len(list)-1]
	}
	if f.unindexed >= 0 {
		moved := x.unindexed[len(x.unindexed)-1]
		x.unindexed[f.unindexed], moved.unindexed = moved, f.unindexed
		x.unindexed[len(x.unindexed)-1] = nil
		x.unindexed = x.unindexed[:len(x.unindexed)-1]
	}
}
