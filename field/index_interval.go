package field

import (
	"bytes"
	"math/rand/v2"
)

// textKey is a text. Texts are ordered byte by byte.
type textKey []byte

func (t textKey) compare(other textKey) ordering { return ordering(bytes.Compare(t, other)) }

func (n *number) compare(other *number) ordering { return compareNumbers(n, other) }

// orderedKey is a type of bounds.
type orderedKey[K any] interface{ compare(other K) ordering }

// bound is one end of an interval.
type bound[K any] struct {
	key      K
	closed   bool // the interval contains key
	infinite bool // there is no bound
}

// below reports whether the low bound b admits v.
func below[K orderedKey[K]](b *bound[K], v K) bool {
	if b.infinite {
		return true
	}
	o := b.key.compare(v)
	return o == less || o == equalTo && b.closed
}

// above reports whether the high bound b admits v.
func above[K orderedKey[K]](b *bound[K], v K) bool {
	if b.infinite {
		return true
	}
	o := b.key.compare(v)
	return o == greater || o == equalTo && b.closed
}

// compareLow orders low bounds: the bound that admits more values is less.
func compareLow[K orderedKey[K]](a, b *bound[K]) ordering {
	return compareBounds(a, b, less)
}

// compareHigh orders high bounds: the bound that admits more values is greater.
func compareHigh[K orderedKey[K]](a, b *bound[K]) ordering {
	return compareBounds(a, b, greater)
}

// compareBounds orders bounds. The bound that admits more values has the ordering wide to the other.
func compareBounds[K orderedKey[K]](a, b *bound[K], wide ordering) ordering {
	switch {
	case a.infinite && b.infinite:
		return equalTo
	case a.infinite:
		return wide
	case b.infinite:
		return -wide
	}
	switch o := a.key.compare(b.key); {
	case o != equalTo || a.closed == b.closed:
		return o
	case a.closed:
		return wide
	}
	return -wide
}

// intervalTree is a search tree of intervals, in which each node knows the greatest high bound below it (an interval
// tree). Random priorities keep it balanced, whatever the order of the intervals (a treap).
type intervalTree[K orderedKey[K]] struct{ root *intervalNode[K] }

type intervalNode[K orderedKey[K]] struct {
	bucket
	tree        *intervalTree[K]
	low, high   bound[K]
	max         bound[K] // greatest high of the node and the nodes below it
	priority    uint32
	left, right *intervalNode[K]
}

func (n *intervalNode[K]) compare(low, high *bound[K]) ordering {
	if o := compareLow(low, &n.low); o != equalTo {
		return o
	}
	return compareHigh(high, &n.high)
}

// bucket returns the bucket of an interval. It adds a node if there is none.
func (t *intervalTree[K]) bucket(a *attribute, low, high bound[K]) *bucket {
	for n := t.root; n != nil; {
		switch n.compare(&low, &high) {
		case less:
			n = n.left
		case greater:
			n = n.right
		default:
			return &n.bucket
		}
	}
	n := &intervalNode[K]{tree: t, low: low, high: high, max: high, priority: rand.Uint32()}
	n.attribute, n.owner, n.ranged = a, n, true
	t.root = t.root.insert(n)
	return &n.bucket
}

func (n *intervalNode[K]) insert(added *intervalNode[K]) *intervalNode[K] {
	if n == nil {
		return added
	}
	if n.compare(&added.low, &added.high) == less {
		n.left = n.left.insert(added)
		if n.left.priority > n.priority {
			up := n.left
			n.left, up.right = up.right, n
			n.update()
			n = up
		}
	} else {
		n.right = n.right.insert(added)
		if n.right.priority > n.priority {
			up := n.right
			n.right, up.left = up.left, n
			n.update()
			n = up
		}
	}
	n.update()
	return n
}

func (n *intervalNode[K]) update() {
	n.max = n.high
	for _, below := range [...]*intervalNode[K]{n.left, n.right} {
		if below != nil && compareHigh(&below.max, &n.max) == greater {
			n.max = below.max
		}
	}
}

// drop removes the node from its tree.
func (n *intervalNode[K]) drop() {
	n.tree.root = n.tree.root.remove(n)
}

func (n *intervalNode[K]) remove(gone *intervalNode[K]) *intervalNode[K] {
	switch n.compare(&gone.low, &gone.high) {
	case less:
		n.left = n.left.remove(gone)
	case greater:
		n.right = n.right.remove(gone)
	default:
		return join(n.left, n.right)
	}
	n.update()
	return n
}

// join joins two trees. All of left is less than all of right.
func join[K orderedKey[K]](left, right *intervalNode[K]) *intervalNode[K] {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.priority > right.priority:
		left.right = join(left.right, right)
		left.update()
		return left
	}
	right.left = join(left, right.left)
	right.update()
	return right
}

// find passes the rules of all intervals that contain v to e.
func (n *intervalNode[K]) find(v K, e *Evaluation) {
	for n != nil && above(&n.max, v) {
		n.left.find(v, e)
		if !below(&n.low, v) {
			return // the low bounds on the right are not less
		}
		if above(&n.high, v) {
			e.candidates(&n.bucket)
		}
		n = n.right
	}
}
