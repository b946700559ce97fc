package field

// Fields reads the fields of one message. A place is the place of a path, as the docstring of Index.Sets says.
type Fields interface {
	// Found reports whether the message has a value at the path.
	Found(place int) bool

	// Read stores the value at the path, read as type as, in v. It returns false if there is no value, or if the value
	// cannot be read as that type. The content of v stays valid until Match returns.
	Read(place int, as Type, v *Value) bool
}

// Evaluation finds the predicates of an Index that hold for a message. The zero value is ready for use. Its memory grows
// with the fields of the Index, and by one bit for each predicate; Match returns memory that a smaller Index does not
// need. An Evaluation must not be used by several goroutines at a time.
type Evaluation struct {
	index      *Index
	fields     Fields
	epoch      uint32 // number of the message
	cells      []cell // by column
	states     []familyState
	disturbed  bool     // a family is not in state undisturbed
	seen       []uint64 // bit id is set if a rule with several accesses was found
	seenIDs    []int
	ids        []int
	mismatches int
	failed     int
}

// familyState says how the rules of a family are handled for one message. It counts only for its epoch.
type familyState struct {
	epoch uint32
	done  bool // the rules that hold are known, and all mismatches are counted
}

// cell is the value of a column.
type cell struct {
	epoch    uint32
	parsed   bool // isNumber and number are set
	isNumber bool
	value    Value // Kind is Missing if there is no such value
	number   number
}

// Match appends the ids of the predicates that hold for a message to dst, in no particular order. mismatches is the
// number of predicates with a mismatch. malformed is nil, or says for each of x.Combinations whether the message is
// malformed before the last of its paths: predicates with these paths do not hold and have no mismatch, and failed is
// their number. Match does not allocate once its memory and dst are large enough.
func (e *Evaluation) Match(x *Index, f Fields, malformed []bool, dst []int) (ids []int, mismatches, failed int) {
	e.begin(x, f, dst)
	if malformed != nil {
		e.skipMalformed(malformed)
	}
	for _, a := range x.attributes {
		if len(a.guarded) > 0 {
			e.guard(a)
		}
	}
	for _, a := range x.attributes {
		if a.postings > 0 {
			e.find(a)
		}
	}
	for _, f := range x.unindexed {
		e.runUnindexed(f)
	}
	for _, id := range e.seenIDs {
		e.seen[id/64] = 0
	}
	ids, e.ids, e.fields = e.ids, nil, nil
	return ids, e.mismatches, e.failed
}

func (e *Evaluation) begin(x *Index, f Fields, dst []int) {
	e.index, e.fields, e.ids = x, f, dst
	e.cells = resize(e.cells, len(x.columns.all))
	e.states = resize(e.states, len(x.familySlots.all))
	e.seen = resize(e.seen, (len(x.rules)+63)/64)
	e.seenIDs = resize(e.seenIDs, min(len(e.seenIDs), len(x.rules)))[:0]
	e.disturbed, e.mismatches, e.failed = false, 0, 0
	if e.epoch++; e.epoch == 0 {
		clear(e.cells)
		clear(e.states)
		e.epoch = 1
	}
}

// resize returns s with n elements. New elements are zero. It allocates if s is too small, or much too large.
func resize[T any](s []T, n int) []T {
	const spare = 64
	if n <= cap(s) && cap(s) <= 4*n+spare {
		if n > len(s) {
			clear(s[len(s):n])
		}
		return s[:n]
	}
	grown := make([]T, n, n+n/4)
	copy(grown, s)
	return grown
}

func (e *Evaluation) skipMalformed(malformed []bool) {
	for _, f := range e.index.familySlots.all {
		if f != nil && malformed[f.combination.slot] {
			e.failed += len(f.members)
			e.setDone(f)
		}
	}
}

func (e *Evaluation) setDone(f *family) {
	e.states[f.slot] = familyState{e.epoch, true}
	e.disturbed = true
}

func (e *Evaluation) cell(column uint32) *cell {
	c := &e.cells[column]
	if c.epoch != e.epoch {
		col := &e.index.columns.all[column]
		c.epoch, c.parsed = e.epoch, false
		if !e.fields.Read(col.path.place, col.as, &c.value) {
			c.value = Value{}
		}
	}
	return c
}

// asNumber returns the cell's value if it is a number, or a text that is a number.
func (c *cell) asNumber() (number, bool) {
	if !c.parsed {
		c.parsed, c.isNumber = true, true
		switch v := &c.value; v.Kind {
		case Int:
			c.number = number{integer: v.Int, unsigned: v.Unsigned}
		case Float:
			c.number = number{float: v.Float, isFloat: true, text: v.Bytes}
		case Text:
			c.number, c.isNumber = parseNumber(v.Bytes)
		default:
			c.isNumber = false
		}
	}
	return c.number, c.isNumber
}

// numberKey returns the key of the cell's number.
func (c *cell) numberKey() numberKey {
	if c.number.text == nil {
		return c.number.key()
	}
	if n := c.number.canonical(); n.text == nil {
		return n.key()
	}
	return numberKey{form: formDecimal} // no literal has this key
}

// compares reports whether the value of a's column can be compared with literals of a's kind.
func (e *Evaluation) compares(a *attribute) bool { return e.cell(uint32(a.column)).compares(a.kind) }

func (c *cell) compares(kind Kind) bool {
	switch kind {
	case Int:
		_, ok := c.asNumber()
		return ok
	case Text:
		return c.value.Kind == Text || c.value.Kind == Bytes
	}
	return c.value.Kind == Bool
}

// guard handles the families for which the value of a counts even if their rules are not found.
func (e *Evaluation) guard(a *attribute) {
	c := e.cell(uint32(a.column))
	if !c.compares(a.kind) {
		for i := range a.guarded {
			e.disturb(a.guarded[i].family)
		}
		return
	}
	if a.kind != Int || !c.number.isFloat || c.number.float == c.number.float {
		return
	}
	for i := range a.guarded { // NaN
		f := a.guarded[i].family
		if f.unordered && e.states[f.slot].epoch != e.epoch {
			e.setDone(f)
			e.runAll(f)
		}
	}
}

// disturb handles the rules of a family one of whose guards is a mismatch.
func (e *Evaluation) disturb(f *family) {
	st := &e.states[f.slot]
	if st.epoch == e.epoch {
		return
	}
	*st = familyState{e.epoch, true}
	e.disturbed = true
	switch {
	case f.first != nil && !e.compares(f.first) && (f.conjunctive || !f.negated): // of all tests, the first is always reached
		e.mismatches += len(f.members)
		st.done = f.conjunctive
		return
	case f.lead != nil:
		if holds, _ := e.holds(f.lead, f.leadColumn); !holds {
			return
		}
		if f.second != nil && !e.compares(f.second) {
			e.mismatches += len(f.members)
			return
		}
	}
	e.runAll(f)
}

func (e *Evaluation) runAll(f *family) {
	for _, r := range f.members {
		holds, mismatch := e.run(r)
		if holds {
			e.ids = append(e.ids, r.id)
		}
		if mismatch {
			e.mismatches++
		}
	}
}

// runUnindexed runs the rules of a family without accesses, unless their common first test rejects all of them.
func (e *Evaluation) runUnindexed(f *family) {
	if st := &e.states[f.slot]; st.epoch == e.epoch && st.done {
		return
	}
	if f.lead != nil {
		holds, mismatch := e.holds(f.lead, f.leadColumn)
		if holds && f.lead.Then == Reject || !holds && f.lead.Else == Reject {
			if mismatch {
				e.mismatches += len(f.members)
			}
			return
		}
	}
	e.runAll(f)
}

// find passes the rules to candidates that a's value finds.
func (e *Evaluation) find(a *attribute) {
	if a.kind == Missing {
		if e.fields.Found(e.index.columns.all[a.column].path.place) {
			e.candidates(&a.present)
		}
		return
	}
	c := e.cell(uint32(a.column))
	if !c.compares(a.kind) {
		return
	}
	switch a.kind {
	case Int:
		for _, u := range a.unequal {
			if compareNumbers(&c.number, &u.number) != equalTo {
				e.candidates(&u.bucket)
			}
		}
		if a.numbers != nil {
			if b := a.numbers[c.numberKey()]; b != nil {
				e.candidates(&b.bucket)
			}
		}
		a.valueTree.root.find(&c.number, e)
	case Text:
		for _, u := range a.unequal {
			if string(c.value.Bytes) != u.literal.text {
				e.candidates(&u.bucket)
			}
		}
		if a.texts != nil {
			if b := a.texts[string(c.value.Bytes)]; b != nil {
				e.candidates(&b.bucket)
			}
		}
		a.textTree.root.find(c.value.Bytes, e)
	default:
		e.candidates(&a.bools[boolIndex(c.value.Bool)])
	}
}

// candidates handles rules that were found.
func (e *Evaluation) candidates(b *bucket) {
	for i := range b.postings {
		r := b.postings[i].rule
		counted := false // the rule's mismatch is counted
		if e.disturbed {
			st := e.states[r.family.slot]
			if counted = st.epoch == e.epoch; counted && st.done {
				continue
			}
		}
		if len(r.accesses) > 1 && !e.firstTime(r.id) {
			continue
		}
		if r.exact {
			e.ids = append(e.ids, r.id)
			continue
		}
		holds, mismatch := e.run(r)
		if holds {
			e.ids = append(e.ids, r.id)
		}
		if mismatch && !counted {
			e.mismatches++
		}
	}
}

// firstTime reports whether the rule with several accesses is found for the first time.
func (e *Evaluation) firstTime(id int) bool {
	if e.seen[id/64]>>(id%64)&1 != 0 {
		return false
	}
	e.seen[id/64] |= 1 << (id % 64)
	e.seenIDs = append(e.seenIDs, id)
	return true
}

// run evaluates one rule.
func (e *Evaluation) run(r *indexedRule) (ok, mismatch bool) {
	at := 0
	for at >= 0 {
		t := &r.predicate.tests[at]
		holds, unlike := e.holds(t, r.columns[at])
		mismatch = mismatch || unlike
		if at = t.Else; holds {
			at = t.Then
		}
	}
	return at == Accept, mismatch
}

// holds evaluates one test, as Test.Holds does.
func (e *Evaluation) holds(t *Test, column uint32) (ok, mismatch bool) {
	if t.Exists {
		return e.fields.Found(e.index.columns.all[column].path.place), false
	}
	c := e.cell(column)
	if t.kind != Int {
		return t.Holds(&c.value)
	}
	n, isNumber := c.asNumber()
	return isNumber && t.ordered(compareNumbers(&n, &t.number)), !isNumber
}
