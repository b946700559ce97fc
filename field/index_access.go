package field

import "math"

// attributeKey is a column, and the kind of the literals that are compared with it. A comparison is a mismatch for all
// literals of a kind, or for none.
type attributeKey struct {
	column int
	kind   Kind // Bool, Int or Text; Missing for exists
}

// attribute finds the tests of one attributeKey that hold for a value.
type attribute struct {
	attributeKey
	postings int
	ranged   int             // postings in the trees
	guarded  []guardedFamily // families for whose members a mismatch of this attribute counts

	texts     map[string]*textBucket
	numbers   map[numberKey]*numberBucket
	bools     [2]bucket
	present   bucket
	unequal   []*unequalBucket
	byLiteral map[literalKey]*unequalBucket // of unequal
	textTree  intervalTree[textKey]
	valueTree intervalTree[*number]
}

// guardedFamily is a family in the list of one of its guards.
type guardedFamily struct {
	family *family
	guard  int // index in family.guards
}

// bucket is the rules that are found by one equality or one interval.
type bucket struct {
	attribute *attribute
	postings  []posting
	owner     interface{ drop() } // of an empty bucket; nil if the bucket stays
	ranged    bool                // the bucket lies in a tree
}

type posting struct {
	rule   *indexedRule
	access int // index in rule.accesses
}

// access is the place of a posting.
type access struct {
	bucket *bucket
	at     int // index in bucket.postings
}

func (b *bucket) add(r *indexedRule, i int) access {
	b.postings = append(b.postings, posting{r, i})
	b.attribute.postings++
	if b.ranged {
		b.attribute.ranged++
	}
	return access{b, len(b.postings) - 1}
}

func (a *access) remove() {
	b := a.bucket
	last := len(b.postings) - 1
	moved := b.postings[last]
	b.postings[a.at] = moved
	moved.rule.accesses[moved.access].at = a.at
	b.postings[last] = posting{}
	b.postings = b.postings[:last]
	b.attribute.postings--
	if b.ranged {
		b.attribute.ranged--
	}
	if last == 0 {
		b.postings = nil
		if b.owner != nil {
			b.owner.drop()
		}
	}
}

type textBucket struct {
	bucket
	text string
}

func (b *textBucket) drop() { delete(b.attribute.texts, b.text) }

type numberBucket struct {
	bucket
	key numberKey
}

func (b *numberBucket) drop() { delete(b.attribute.numbers, b.key) }

// unequalBucket is found by all values but one.
type unequalBucket struct {
	bucket
	literal literalKey
	number  number
	at      int // index in attribute.unequal
}

// literalKey is the literal of a test: a text or a number.
type literalKey struct {
	text   string
	number numberKey
}

func (b *unequalBucket) drop() {
	a := b.attribute
	delete(a.byLiteral, b.literal)
	last := len(a.unequal) - 1
	a.unequal[b.at] = a.unequal[last]
	a.unequal[b.at].at = b.at
	a.unequal[last] = nil
	a.unequal = a.unequal[:last]
}

// numberKey is equal for numbers that are equal, whatever their form.
type numberKey struct{ bits, form uint64 }

const (
	formInteger = iota
	formUnsigned
	formFloat
	formDecimal // of a literalKey, whose text is the number
)

// key returns the key of n, which has no text.
func (n *number) key() numberKey {
	const two63, two64 = 1 << 63, 1 << 64
	switch f := n.float; {
	case !n.isFloat && n.unsigned:
		return numberKey{uint64(n.integer), formUnsigned}
	case !n.isFloat:
		return numberKey{uint64(n.integer), formInteger}
	case -two63 <= f && f < two63 && f == float64(int64(f)):
		return numberKey{uint64(int64(f)), formInteger}
	case two63 <= f && f < two64:
		return numberKey{uint64(f), formUnsigned}
	default:
		return numberKey{math.Float64bits(f), formFloat}
	}
}

func (x *Index) attributeOf(column int, kind Kind) *attribute {
	key := attributeKey{column, kind}
	a := x.byAttribute[key]
	if a == nil {
		a = &attribute{attributeKey: key}
		a.bools[0].attribute, a.bools[1].attribute, a.present.attribute = a, a, a
		x.byAttribute[key] = a
		x.attributes = append(x.attributes, a)
	}
	return a
}

// dropAttributes drops the attributes of a column that has no user any more.
func (x *Index) dropAttributes(column int) {
	kept := x.attributes[:0]
	for _, a := range x.attributes {
		if a.column == column {
			delete(x.byAttribute, a.attributeKey)
		} else {
			kept = append(kept, a)
		}
	}
	clear(x.attributes[len(kept):])
	x.attributes = kept
}

// accessKey says by which values a rule is found.
type accessKey struct {
	attribute *attribute
	operator  operator // that of test, or its opposite if the test is negated; lessThan stands for an interval
	test      *Test    // has the literal; nil for an interval
	interval  interval
}

func (k *accessKey) isInterval() bool { return k.operator == lessThan }

func (k *accessKey) literal() literalKey {
	if k.test.kind == Int && k.test.number.text != nil {
		return literalKey{text: string(k.test.number.text), number: numberKey{form: formDecimal}}
	}
	if k.test.kind == Int {
		return literalKey{number: k.test.number.key()}
	}
	return literalKey{text: k.test.text}
}

// interval is the values that one or more ranges on an attribute accept. The bounds are of the attribute's kind.
type interval struct {
	numbers [2]bound[*number] // low and high
	texts   [2]bound[textKey]
}

func (k *accessKey) bucket() *bucket {
	a := k.attribute
	switch {
	case k.isInterval() && a.kind == Int:
		return a.valueTree.bucket(a, k.interval.numbers[0], k.interval.numbers[1])
	case k.isInterval():
		return a.textTree.bucket(a, k.interval.texts[0], k.interval.texts[1])
	case k.operator == exists:
		return &a.present
	case a.kind == Bool:
		return &a.bools[boolIndex(k.test.boolean == (k.operator == equal))]
	case k.operator == notEqual:
		return k.unequalBucket()
	case a.kind == Int:
		key := k.test.number.key()
		b := a.numbers[key]
		if b == nil {
			b = &numberBucket{bucket{attribute: a}, key}
			b.owner = b
			if a.numbers == nil {
				a.numbers = map[numberKey]*numberBucket{}
			}
			a.numbers[key] = b
		}
		return &b.bucket
	}
	b := a.texts[k.test.text]
	if b == nil {
		b = &textBucket{bucket{attribute: a}, k.test.text}
		b.owner = b
		if a.texts == nil {
			a.texts = map[string]*textBucket{}
		}
		a.texts[b.text] = b
	}
	return &b.bucket
}

func (k *accessKey) unequalBucket() *bucket {
	a, literal := k.attribute, k.literal()
	b := a.byLiteral[literal]
	if b == nil {
		b = &unequalBucket{bucket: bucket{attribute: a}, literal: literal, number: k.test.number, at: len(a.unequal)}
		b.owner = b
		if a.byLiteral == nil {
			a.byLiteral = map[literalKey]*unequalBucket{}
		}
		a.byLiteral[literal] = b
		a.unequal = append(a.unequal, b)
	}
	return &b.bucket
}

// cost estimates how many rules would be run together with the rule that k finds. An inequality holds for nearly all values, so it is
// the last choice. One that other rules have is best then: if it does not hold, none of them is run.
func (k *accessKey) cost() int {
	const lastChoice = 1 << 20
	a := k.attribute
	switch {
	case k.isInterval():
		bounds := [2]bool{!k.interval.texts[0].infinite, !k.interval.texts[1].infinite}
		if a.kind == Int {
			bounds = [2]bool{!k.interval.numbers[0].infinite, !k.interval.numbers[1].infinite}
		}
		if bounds[0] && bounds[1] {
			return 1 + a.ranged/16
		}
		return 1 + a.ranged/2
	case k.operator == exists:
		return 2 + len(a.present.postings)
	case a.kind == Bool:
		return 1 + len(k.bucket().postings)
	case k.operator == notEqual:
		if a.byLiteral[k.literal()] != nil {
			return lastChoice
		}
		return lastChoice + len(a.unequal)
	case a.kind == Int:
		if b := a.numbers[k.test.number.key()]; b != nil {
			return len(b.postings)
		}
	default:
		if b := a.texts[k.test.text]; b != nil {
			return len(b.postings)
		}
	}
	return 0
}

func boolIndex(v bool) int {
	if v {
		return 1
	}
	return 0
}
