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
	guarded  []guardedFamily // families for whose members a mismatch of this attribute counts

	texts     map[string]*textBucket
	numbers   map[numberKey]*numberBucket
	bools     [2]bucket
	present   bucket
	textTree  intervalTree[textKey]
	valueTree intervalTree[number]
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

// numberKey is equal for numbers that are equal, whatever their form.
type numberKey struct{ bits, form uint64 }

const (
	formInteger = iota
	formUnsigned
	formFloat
)

func (n number) key() numberKey {
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

// accessKey says by which equality or interval a rule is found.
type accessKey struct {
	attribute *attribute
	test      *Test // an equality or exists; nil for an interval
	interval  interval
}

// interval is the values that one or more ranges on an attribute accept. The bounds are of the attribute's kind.
type interval struct {
	numbers [2]bound[number] // low and high
	texts   [2]bound[textKey]
}

func (k *accessKey) bucket() *bucket {
	a := k.attribute
	switch t := k.test; {
	case t == nil && a.kind == Int:
		return a.valueTree.bucket(a, k.interval.numbers[0], k.interval.numbers[1])
	case t == nil:
		return a.textTree.bucket(a, k.interval.texts[0], k.interval.texts[1])
	case t.Exists:
		return &a.present
	case t.kind == Bool:
		return &a.bools[boolIndex(t.holdsBool(true))]
	case t.kind == Int:
		key := t.number.key()
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

// cost estimates how many rules would be run together with the rule that k finds.
func (k *accessKey) cost() int {
	a := k.attribute
	switch t := k.test; {
	case t == nil:
		n, both := a.textTree.count, !k.interval.texts[0].infinite && !k.interval.texts[1].infinite
		if a.kind == Int {
			n, both = a.valueTree.count, !k.interval.numbers[0].infinite && !k.interval.numbers[1].infinite
		}
		if both {
			return 1 + n/16
		}
		return 1 + n/2
	case t.Exists:
		return 2 + len(a.present.postings)
	case t.kind == Bool:
		return 1 + len(k.bucket().postings)
	case t.kind == Int:
		if b := a.numbers[t.number.key()]; b != nil {
			return len(b.postings)
		}
	default:
		if b := a.texts[t.text]; b != nil {
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
