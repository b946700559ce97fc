package field

// Index is a set of predicates that are evaluated together. For each message it runs only the predicates that can hold,
// so the work for a message grows with the number of these, not with the number of predicates. An Evaluation finds
// them. The results are those of each predicate alone: which predicates hold, and how many have a mismatch.
//
// Add looks for tests of which at least one holds whenever the predicate holds: one member of a conjunction, for
// example, or one test of each side of ||. The Index finds these tests by the value of their field: equalities by hash,
// ranges and prefixes in a search tree. Of the members of a conjunction, Add chooses the one whose literal the fewest
// predicates share. An inequality is the last choice, since it holds for nearly all messages; predicates with the same
// inequality share its result. A predicate without such tests, such as !exists(a), is evaluated for each message.
// Predicates of this sort that begin with the same test share its result.
//
// Add and Remove must not overlap with anything else. Evaluations may overlap with each other.
type Index struct {
	rules        []*indexedRule // by id; nil if the id is free
	freeRules    []int
	count        int
	size         int // estimate of the memory of all rules, in bytes
	paths        map[string]*indexedPath
	sets         []*pathSet
	combinations map[string]*combination
	reads        slots[*combination]
	columns      slots[column]
	attributes   []*attribute
	byAttribute  map[attributeKey]*attribute
	families     map[string]*family
	familySlots  slots[*family]
	unindexed    []*family // those whose members have no access
}

// indexedRule is one predicate of an Index.
type indexedRule struct {
	id          int
	predicate   *Predicate
	columns     []uint32 // column of each test
	combination *combination
	family      *family
	member      int      // index in family.members
	accesses    []access // where the rule is found; the predicate does not hold unless the test of one of them holds
	exact       bool     // if the test of an access holds, the predicate holds
}

// slots is a list whose elements keep their index until they are freed.
type slots[T any] struct {
	all  []T
	free []int
}

func (s *slots[T]) add(v T) int {
	if n := len(s.free) - 1; n >= 0 {
		i := s.free[n]
		s.free = s.free[:n]
		s.all[i] = v
		return i
	}
	s.all = append(s.all, v)
	return len(s.all) - 1
}

func (s *slots[T]) remove(i int) {
	var zero T
	s.all[i] = zero
	s.free = append(s.free, i)
	if len(s.free) == len(s.all) {
		s.all, s.free = nil, nil
	}
}

// NewIndex returns an empty Index.
func NewIndex() *Index {
	return &Index{
		paths: map[string]*indexedPath{}, combinations: map[string]*combination{},
		byAttribute: map[attributeKey]*attribute{}, families: map[string]*family{},
	}
}

// Add adds p and returns its id: a number that Remove has made free, or Cap. Equal predicates get different ids: a
// caller with many equal predicates adds one of them. The time grows with the length of p and with the logarithm of
// Len. It is longer for a path that no other predicate has, because a Set is compiled again.
func (x *Index) Add(p *Predicate) (id int) {
	r := &indexedRule{predicate: p, columns: make([]uint32, len(p.tests))}
	var paths []*indexedPath
	r.combination, paths = x.acquireCombination(p.set)
	for i := range p.tests {
		r.columns[i] = uint32(x.columnOf(paths[p.tests[i].Path], p.tests[i].As))
	}
	if n := len(x.freeRules) - 1; n >= 0 {
		id = x.freeRules[n]
		x.freeRules = x.freeRules[:n]
		x.rules[id] = r
	} else {
		id = len(x.rules)
		x.rules = append(x.rules, r)
	}
	r.id = id
	c := coverer{index: x, rule: r}.cover(p.root, 0, false)
	r.exact = c.exact
	r.accesses = make([]access, len(c.keys))
	for i := range c.keys {
		r.accesses[i] = c.keys[i].bucket().add(r, i)
	}
	x.familyOf(r, c).add(r)
	x.count++
	x.size += r.size()
	return id
}

// Remove removes the predicate with an id that Add has returned.
func (x *Index) Remove(id int) {
	r := x.rules[id]
	x.rules[id] = nil
	x.freeRules = append(x.freeRules, id)
	x.count--
	x.size -= r.size()
	for i := range r.accesses {
		r.accesses[i].remove()
	}
	x.removeMember(r)
	x.releaseCombination(r.combination)
	if x.count == 0 {
		*x = *NewIndex() // maps and lists do not shrink
	}
}

// Len returns the number of predicates.
func (x *Index) Len() int { return x.count }

// Cap returns a number that is greater than all ids.
func (x *Index) Cap() int { return len(x.rules) }

// Predicate returns the predicate with an id, or nil.
func (x *Index) Predicate(id int) *Predicate {
	if uint(id) >= uint(len(x.rules)) || x.rules[id] == nil {
		return nil
	}
	return x.rules[id].predicate
}

// Memory returns an estimate of the memory of the Index, in bytes. It does not count the predicates themselves.
func (x *Index) Memory() int { return x.size }

// size estimates the memory of a rule, in bytes: the rule, its places in maps and lists, and its nodes.
func (r *indexedRule) size() int {
	const rule, perAccess = 144, 176
	return rule + 4*len(r.columns) + perAccess*len(r.accesses)
}
