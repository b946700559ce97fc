package field

import "bytes"

// cover says how a rule is found, and when a mismatch can occur although the rule is not found.
type cover struct {
	keys   []accessKey // if the expression holds, the test of one of them holds; none if there are no such tests
	guards []int       // tests, by number: while none of them is a mismatch, a rule that is not found has no mismatch
	cost   int
	exact  bool // if the test of a key holds, the expression holds
}

// coverer looks for the cover of one rule.
type coverer struct {
	index *Index
	rule  *indexedRule
}

// cover returns the cover of e, whose first test has the number start.
func (c coverer) cover(e expression, start int) cover {
	switch e := e.(type) {
	case Test:
		return c.coverTest(start)
	case logicalExpression:
		if e.isAnd {
			return c.coverConjunction(e, start)
		}
		return c.coverDisjunction(e, start)
	}
	return cover{} // the negation of a test holds for nearly all values, and for missing fields
}

func (c coverer) attribute(n int) *attribute {
	t := &c.rule.predicate.tests[n]
	kind := t.kind
	if t.Exists {
		kind = Missing
	}
	return c.index.attributeOf(int(c.rule.columns[n]), kind)
}

func (c coverer) coverTest(n int) cover {
	t := &c.rule.predicate.tests[n]
	key := accessKey{attribute: c.attribute(n)}
	switch {
	case t.Exists, t.kind == Bool, t.operator == equal:
		key.test = t
	case t.operator == notEqual:
		return cover{}
	default:
		key.interval.unbounded()
		key.interval.narrow(t)
	}
	v := cover{keys: []accessKey{key}, cost: key.cost(), exact: true}
	if !t.Exists {
		v.guards = []int{n}
	}
	return v
}

// coverConjunction chooses one part of a conjunction, or several ranges on one attribute. All tests up to the chosen part
// are guards: they are run before it.
func (c coverer) coverConjunction(e logicalExpression, start int) cover {
	var best cover
	ranges := map[*attribute]*rangesOf{}
	end, last, parts := start, start, 0
	for _, part := range e.parts {
		first := end
		end += part.count()
		v := c.cover(part, first)
		if len(v.keys) > 0 && (best.keys == nil || v.cost < best.cost) {
			best, last, parts = v, end, 1
		}
		if _, isTest := part.(Test); !isTest || len(v.keys) == 0 || v.keys[0].test != nil {
			continue
		}
		a := v.keys[0].attribute
		r := ranges[a]
		if r == nil {
			r = &rangesOf{}
			r.interval.unbounded()
			ranges[a] = r
		}
		r.interval.narrow(&c.rule.predicate.tests[first])
		if r.parts++; r.parts == 1 {
			continue
		}
		key := accessKey{attribute: a, interval: r.interval}
		if cost := key.cost(); cost <= best.cost || best.keys[0].attribute == a && best.keys[0].test == nil {
			best, last, parts = cover{keys: []accessKey{key}, cost: cost, exact: true}, end, r.parts
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

// rangesOf is the ranges of a conjunction on one attribute.
type rangesOf struct {
	interval interval
	parts    int
}

// coverDisjunction combines the covers of all parts, of which each must have one.
func (c coverer) coverDisjunction(e logicalExpression, start int) cover {
	all := cover{exact: true}
	for _, part := range e.parts {
		v := c.cover(part, start)
		if len(v.keys) == 0 {
			return cover{}
		}
		all.keys = append(all.keys, v.keys...)
		all.guards = append(all.guards, v.guards...)
		all.cost += v.cost
		all.exact = all.exact && v.exact
		start += part.count()
	}
	return all
}

func (i *interval) unbounded() {
	for n := range 2 {
		i.numbers[n].infinite, i.texts[n].infinite = true, true
	}
}

// narrow removes the values that t does not accept. t is a comparison of order, or a prefix.
func (i *interval) narrow(t *Test) {
	if t.kind == Int {
		narrow(&i.numbers, t.operator, t.number)
		return
	}
	if t.operator != prefix {
		narrow(&i.texts, t.operator, textKey(t.text))
		return
	}
	narrow(&i.texts, atLeast, textKey(t.text))
	if next := afterPrefix(t.text); next != nil {
		narrow(&i.texts, lessThan, next)
	}
}

func narrow[K orderedKey[K]](bounds *[2]bound[K], o operator, key K) {
	b := bound[K]{key: key, closed: o == atMost || o == atLeast}
	if o == greaterThan || o == atLeast {
		if compareLow(&b, &bounds[0]) == greater {
			bounds[0] = b
		}
	} else if compareHigh(&b, &bounds[1]) == less {
		bounds[1] = b
	}
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
