package field

import (
	"slices"
	"strings"
)

// indexedPath is a path of one or more predicates of an Index.
type indexedPath struct {
	path    Path
	users   int      // combinations with this path
	set     *pathSet // that contains the path
	place   int      // as Fields uses it
	columns []int
}

// pathSet is up to MaxSet paths that a format finds in one pass.
type pathSet struct {
	number   int
	paths    []*indexedPath
	compiled *Set
}

// column is one path, read as one type.
type column struct {
	path *indexedPath // nil if the column is free
	as   Type
}

// combination is the set of paths of one or more predicates. All of these predicates can be decided for the same
// messages: those that are not malformed before the last of the paths.
type combination struct {
	slot  int
	key   string
	set   *Set
	paths []*indexedPath // in the order of set
	users int            // predicates
}

// Combination is a set of paths that one or more predicates of an Index test.
type Combination struct {
	Set   *Set
	Paths []int // place of each path of Set, as Fields uses it
}

// Sets appends the paths of all predicates to dst, in sets of at most MaxSet. The place of path j of set i is
// i*MaxSet + j. Places may change with the next Add or Remove.
func (x *Index) Sets(dst []*Set) []*Set {
	for _, s := range x.sets {
		dst = append(dst, s.compiled)
	}
	return dst
}

// Combinations appends the sets of paths of single predicates to dst, each set once. The Set of an unused number is nil.
// A caller uses them if it cannot find the paths of all predicates because a message is malformed.
func (x *Index) Combinations(dst []Combination) []Combination {
	for _, c := range x.reads.all {
		v := Combination{}
		if c != nil {
			v.Set = c.set
			for _, p := range c.paths {
				v.Paths = append(v.Paths, p.place)
			}
		}
		dst = append(dst, v)
	}
	return dst
}

// acquireCombination adds a user to the combination of the paths of s. It returns the combination, and its paths in the
// order of s.
func (x *Index) acquireCombination(s *Set) (*combination, []*indexedPath) {
	texts := make([]string, s.Len())
	for i, p := range s.paths {
		texts[i] = p.String()
	}
	sorted := slices.Sorted(slices.Values(texts))
	key := strings.Join(sorted, "\x00")
	c := x.combinations[key]
	if c == nil {
		c = &combination{key: key, set: s, paths: make([]*indexedPath, s.Len())}
		for i, text := range texts {
			c.paths[i] = x.acquirePath(text, s.paths[i])
		}
		c.slot = x.reads.add(c)
		x.combinations[key] = c
	}
	c.users++
	paths := make([]*indexedPath, len(texts))
	for i, text := range texts {
		paths[i] = x.paths[text]
	}
	return c, paths
}

func (x *Index) releaseCombination(c *combination) {
	if c.users--; c.users > 0 {
		return
	}
	delete(x.combinations, c.key)
	x.reads.remove(c.slot)
	for _, p := range c.paths {
		x.releasePath(p)
	}
}

func (x *Index) acquirePath(text string, path Path) *indexedPath {
	p := x.paths[text]
	if p == nil {
		p = &indexedPath{path: path}
		x.paths[text] = p
		at := slices.IndexFunc(x.sets, func(s *pathSet) bool { return len(s.paths) < MaxSet })
		if at < 0 {
			at = len(x.sets)
			x.sets = append(x.sets, &pathSet{number: at})
		}
		x.sets[at].paths = append(x.sets[at].paths, p)
		x.sets[at].compile()
	}
	p.users++
	return p
}

func (x *Index) releasePath(p *indexedPath) {
	if p.users--; p.users > 0 {
		return
	}
	for _, c := range p.columns {
		x.dropAttributes(c)
		x.columns.remove(c)
	}
	delete(x.paths, p.path.String())
	s, last := p.set, x.sets[len(x.sets)-1]
	s.paths = slices.DeleteFunc(s.paths, func(other *indexedPath) bool { return other == p })
	if s != last { // fill the gap, so that no pass is made for few paths
		s.paths = append(s.paths, last.paths[len(last.paths)-1])
		last.paths = last.paths[:len(last.paths)-1]
		last.compile()
	}
	s.compile()
	if len(last.paths) == 0 {
		x.sets = x.sets[:len(x.sets)-1]
	}
}

// compile compiles the set again, after its paths have changed.
func (s *pathSet) compile() {
	paths := make([]Path, len(s.paths))
	for i, p := range s.paths {
		paths[i] = p.path
		p.set, p.place = s, s.number*MaxSet+i
	}
	s.compiled, _ = NewSet(paths...) // no error: the paths differ, and there are at most MaxSet
}

func (x *Index) columnOf(p *indexedPath, as Type) int {
	for _, c := range p.columns {
		if x.columns.all[c].as == as {
			return c
		}
	}
	c := x.columns.add(column{p, as})
	p.columns = append(p.columns, c)
	return c
}
