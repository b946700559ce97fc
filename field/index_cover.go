package field

import "bytes"

// cover says how a rule is found, and when a mismatch can occur although the rule is not found.
type cover struct {
	keys      []accessKey // if the expression holds, the test of one of them holds; none if there are no such tests
	guards    []int       // tests, by number: while none of them is a mismatch, a rule that is not found has no mismatch
	cost      int
	exact     bool // if the test of a key holds, the expression holds
	negated   bool // a key is of a negated test, which a mismatch makes true
	unordered bool // a key is of a negated comparison of order, which NaN makes true
}

// coverer looks for the cover of one rule.
type coverer struct {
	index *Index
	rule  *indexedRule
}

// cover returns the cover of e, or of its negation. The first test of e has the number start.
func (c coverer) cover(e expression, start int, negated bool) cover {
	switch e := e.(type) {
	case negation:
		return c.cover(e.operand, start, !negated)
	case logicalExpression: // !(a && b) is !a || !b
		if e.isAnd != negated {
			return c.coverConjunction(e, start, negated)
		}
		return c.coverDisjunction(e, start, negated)
	}
	return c.coverTest(start, negated)
}

func (c coverer) attribute(n int) *attribute {
	t := &c.rule.predicate.tests[n]
	kind := t.kind
	if t.Exists {
		kind = Missing
	}
	return c.index.attributeOf(int(c.rule.columns[n]), kind)
}

// opposite has the operator that holds for the other values that can be compared.
var opposite = [...]operator{
	equal: notEqual, notEqual: equal, lessThan: atLeast, atMost: greaterThan, greaterThan: atMost, atLeast: lessThan,
}

func (c coverer) coverTest(n int, negated bool) cover {
	t := &c.rule.predicate.tests[n]
	key := accessKey{attribute: c.attribute(n), operator: t.operator, test: t}
	if negated {
		if t.operator <= prefix { // the opposite is no interval
			return cover{}
		}
		key.operator = opposite[t.operator]
	}
	v := cover{exact: true, negated: negated}
	switch {
	case key.operator == equal && t.number.text != nil: // such a number has no numberKey
		key.interval.unbounded()
		key.interval.narrow(t, atLeast)
		key.interval.narrow(t, atMost)
		key.operator, key.test = lessThan, nil
	case key.operator == prefix || key.operator > notEqual:
		v.unordered = negated
		key.interval.unbounded()
		key.interval.narrow(t, key.operator)
		key.operator, key.test = lessThan, nil
	}
	v.keys, v.cost = []accessKey{key}, key.cost()
	if !t.Exists {
		v.guards = []int{n}
	}
	return v
}

// coverConjunction chooses one part of a conjunction, or several ranges on one attribute. All tests up to the chosen part
// are guards: they are run before it.
func (c coverer) coverConjunction(e logicalExpression, start int, negated bool) cover {
	var best cover
	ranges := map[*attribute]*rangesOf{}
	end, last, parts := start, start, 0
	for _, part := range e.parts {
		first := end
		end += part.count()
		v := c.cover(part, first, negated)
		if len(v.keys) > 0 && (best.keys == nil || v.cost < best.cost) {
			best, last, parts = v, end, 1
		}
		if len(v.keys) != 1 || part.count() != 1 || !v.keys[0].isInterval() {
			continue
		}
		a := v.keys[0].attribute
		r := ranges[a]
		if r == nil {
			ranges[a] = &rangesOf{v, 1}
			continue
		}
		r.add(&v)
		if cost := r.keys[0].cost(); cost <= best.cost || best.keys[0].attribute == a && best.keys[0].isInterval() {
			best, last, parts = r.cover, end, r.parts
			best.cost = cost
		}
	}
	best.exact = best.exact && parts == len(e.parts)
	best.guards = nil
	for n := start; n < last; n++ {
		if !c.rule.predicate.tests[n].Exists {
			best.guards = append(best.guards, n)
		}
	}
	return best
}

// rangesOf is the ranges of a conjunction on one attribute, as one interval.
type rangesOf struct {
	cover
	parts int
}

func (r *rangesOf) add(v *cover) {
	key := r.keys[0]
	key.interval.intersect(&v.keys[0].interval)
	r.keys = []accessKey{key}
	r.negated, r.unordered = r.negated || v.negated, r.unordered || v.unordered
	r.parts++
}

// coverDisjunction combines the covers of all parts, of which each must have one.
func (c coverer) coverDisjunction(e logicalExpression, start int, negated bool) cover {
	all := cover{exact: true}
	for _, part := range e.parts {
		v := c.cover(part, start, negated)
		if len(v.keys) == 0 {
			return cover{}
		}
		all.keys = append(all.keys, v.keys...)
		all.guards = append(all.guards, v.guards...)
		all.cost += v.cost
		all.exact = all.exact && v.exact
		all.negated, all.unordered = all.negated || v.negated, all.unordered || v.unordered
		start += part.count()
	}
	return all
}

func (i *interval) unbounded() {
	for n := range 2 {
		i.numbers[n].infinite, i.texts[n].infinite = true, true
	}
}

// narrow removes the values that o does not accept, with the literal of t. o is a comparison of order, or prefix.
func (i *interval) narrow(t *Test, o operator) {
	if t.kind == Int {
		narrow(&i.numbers, o, &t.number)
		return
	}
	if o != prefix {
		narrow(&i.texts, o, textKey(t.text))
		return
	}
	narrow(&i.texts, atLeast, textKey(t.text))
	if next := afterPrefix(t.text); next != nil {
		narrow(&i.texts, lessThan, next)
	}
}

// intersect removes the values that other does not have.
func (i *interval) intersect(other *interval) {
	intersect(&i.numbers, &other.numbers)
	intersect(&i.texts, &other.texts)
}

func intersect[K orderedKey[K]](bounds, other *[2]bound[K]) {
	if compareLow(&other[0], &bounds[0]) == greater {
		bounds[0] = other[0]
	}
	if compareHigh(&other[1], &bounds[1]) == less {
		bounds[1] = other[1]
	}
}

func narrow[K orderedKey[K]](bounds *[2]bound[K], o operator, key K) {
	b, other := bound[K]{key: key, closed: o == atMost || o == atLeast}, *bounds
	if o == greaterThan || o == atLeast {
		other[0] = b
	} else {
		other[1] = b
	}
	intersect(bounds, &other)
}

// afterPrefix returns the least text that is greater than all texts with prefix p, or nil if there is none.
func afterPrefix(p string) textKey {
	b := bytes.TrimRight([]byte(p), "\xff")
	if len(b) == 0 {
		return nil
	}
	b[len(b)-1]++
	return b
}
