package routes

import (
	"strings"

	"example.com/ferry/internal/topic"
)

// maxDepth is how many levels have nodes of their own. What is deeper is compared as one text, so that a tag of a thousand levels
// takes little more memory than its own.
const maxDepth = 12

// Levels has values of tags, or of filters, by their levels. The zero value is empty. Methods must not overlap, apart from those that
// only read.
type Levels[T any] struct {
	root node[T]
}

// node stands for the levels on the way to it. It has the value of the key that ends here, or, as long as it has no children, of one
// that goes on.
type node[T any] struct {
	children map[string]*node[T] // by level; at maxDepth by all levels that follow
	value    T
	rest     string // levels of the key behind the node, if it goes on
	keys     int    // of the node and all behind it
	holds    keyEnd
}

type keyEnd uint8

const (
	noKey keyEnd = iota
	endsHere
	goesOn
)

// Len returns the number of keys.
func (l *Levels[T]) Len() int { return l.root.keys }

// Set sets the value of a key: a tag or a filter.
func (l *Levels[T]) Set(key string, value T) {
	l.root.set(key, true, 0, value)
}

// Delete removes a key.
func (l *Levels[T]) Delete(key string) {
	l.root.remove(key, true, 0)
}

// cut returns the next level of a key behind a node at a depth, and what is left.
func cut(rest string, depth int) (level, left string, more bool) {
	if depth == maxDepth {
		return rest, "", false
	}
	return strings.Cut(rest, "/")
}

// set sets the value of a key whose levels behind n are rest, if more. It reports whether the key is new.
func (n *node[T]) set(rest string, more bool, depth int, value T) (added bool) {
	switch {
	case n.holds == goesOn && more && n.rest == rest:
		n.value = value
		return false
	case n.holds == goesOn:
		n.pushDown(depth)
	}
	switch {
	case !more:
		added = n.holds == noKey
		n.holds, n.value = endsHere, value
	case n.children == nil && n.holds == noKey:
		added = true
		n.holds, n.rest, n.value = goesOn, rest, value
	default:
		level, left, more := cut(rest, depth)
		added = n.child(level).set(left, more, depth+1, value)
	}
	if added {
		n.keys++
	}
	return added
}

// pushDown moves the key that goes on to a child.
func (n *node[T]) pushDown(depth int) {
	var zero T
	level, left, more := cut(n.rest, depth)
	n.child(level).set(left, more, depth+1, n.value)
	n.holds, n.rest, n.value = noKey, "", zero
}

func (n *node[T]) child(level string) *node[T] {
	c := n.children[level]
	if c == nil {
		if n.children == nil {
			n.children = map[string]*node[T]{}
		}
		c = &node[T]{}
		n.children[level] = c
	}
	return c
}

// remove removes a key and the nodes that have none any more. It reports whether there was the key.
func (n *node[T]) remove(rest string, more bool, depth int) bool {
	if n.holds == endsHere && !more || n.holds == goesOn && more && n.rest == rest {
		var zero T
		n.holds, n.rest, n.value = noKey, "", zero
		n.keys--
		return true
	}
	if !more {
		return false
	}
	level, left, more := cut(rest, depth)
	c := n.children[level]
	if c == nil || !c.remove(left, more, depth+1) {
		return false
	}
	n.keys--
	if c.keys == 0 {
		if delete(n.children, level); len(n.children) == 0 {
			n.children = nil // a map does not shrink
		}
	}
	return true
}

// MatchingFilters calls found for the values of the filters that match a tag.
func (l *Levels[T]) MatchingFilters(tag string, found func(T)) {
	l.root.matchingFilters(tag, true, 0, found)
}

func (n *node[T]) matchingFilters(tag string, more bool, depth int, found func(T)) {
	matches := func(rest string) bool {
		if !more {
			return rest == "#" // a/# also matches a
		}
		return topic.Match(rest, tag)
	}
	switch {
	case n.holds == endsHere && !more, n.holds == goesOn && matches(n.rest):
		found(n.value)
	}
	switch {
	case n.children == nil:
	case depth == maxDepth:
		for rest, c := range n.children {
			if matches(rest) {
				found(c.value)
			}
		}
	default:
		if c := n.children["#"]; c != nil {
			found(c.value)
		}
		if !more {
			return
		}
		level, left, more := strings.Cut(tag, "/")
		if c := n.children["+"]; c != nil {
			c.matchingFilters(left, more, depth+1, found)
		}
		if c := n.children[level]; c != nil {
			c.matchingFilters(left, more, depth+1, found)
		}
	}
}

// MatchingTags calls found for the values of the tags that a filter matches. It looks at no more than about limit nodes, and returns false
// if there are more.
func (l *Levels[T]) MatchingTags(filter string, limit int, found func(T)) bool {
	w := walk[T]{left: limit, found: found}
	w.matchingTags(&l.root, filter, true, 0)
	return w.left >= 0
}

type walk[T any] struct {
	left  int // nodes
	found func(T)
}

func (w *walk[T]) matchingTags(n *node[T], filter string, more bool, depth int) {
	if more && filter == "#" {
		if w.left -= n.keys; w.left >= 0 {
			n.all(w.found)
		}
		return
	}
	if w.left--; w.left < 0 {
		return
	}
	switch {
	case n.holds == endsHere && !more, n.holds == goesOn && more && topic.Match(filter, n.rest):
		w.found(n.value)
	}
	if !more || n.children == nil {
		return
	}
	if depth == maxDepth {
		for rest, c := range n.children {
			if w.left--; w.left < 0 {
				return
			}
			if topic.Match(filter, rest) {
				w.found(c.value)
			}
		}
		return
	}
	level, left, more := strings.Cut(filter, "/")
	if level != "+" {
		if c := n.children[level]; c != nil {
			w.matchingTags(c, left, more, depth+1)
		}
		return
	}
	for _, c := range n.children {
		if w.matchingTags(c, left, more, depth+1); w.left < 0 {
			return
		}
	}
}

// all calls found for n and all nodes behind it.
func (n *node[T]) all(found func(T)) {
	if n.holds != noKey {
		found(n.value)
	}
	for _, c := range n.children {
		c.all(found)
	}
}
