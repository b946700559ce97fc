package field

import "fmt"

// MaxSet bounds the number of paths in a Set.
const MaxSet = 64

// Set is several paths compiled into one tree, so that a format finds all of them in one pass. A Set is immutable and
// safe for use by many goroutines.
type Set struct {
	paths []Path
	nodes []Node
}

// Node is one step of one or more paths of a Set. The children of a node are consecutive in Nodes.
type Node struct {
	Step   Step
	Leaf   int       // index in Paths of the path that ends at this node; -1 if no path ends here
	First  int       // index in Nodes of the first child
	Count  int       // number of children
	Filter KeyFilter // accepts the steps of the children
}

// NewSet compiles paths. Two equal paths are an error, because a caller expects a separate result for each path.
func NewSet(paths ...Path) (*Set, error) {
	if len(paths) > MaxSet {
		return nil, fmt.Errorf("field: %d paths in one set: at most %d", len(paths), MaxSet)
	}
	type draft struct {
		step     Step
		leaf     int
		children []*draft
	}
	root := &draft{leaf: -1}
	for i, p := range paths {
		at := root
		for _, st := range p.steps {
			var next *draft
			for _, c := range at.children {
				if c.step.Name == st.Name {
					next = c
				}
			}
			if next == nil {
				next = &draft{step: st, leaf: -1}
				at.children = append(at.children, next)
			}
			at = next
		}
		if at.leaf >= 0 {
			return nil, fmt.Errorf("field: path %q twice in one set", p)
		}
		at.leaf = i
	}
	s := &Set{paths: append([]Path(nil), paths...)}
	s.nodes = append(s.nodes, Node{Leaf: root.leaf})
	for queue := []*draft{root}; len(queue) > 0; queue = queue[1:] {
		d, n := queue[0], len(s.nodes)-len(queue)
		s.nodes[n].First, s.nodes[n].Count = len(s.nodes), len(d.children)
		for _, c := range d.children {
			s.nodes[n].Filter.Add(&c.step)
			s.nodes = append(s.nodes, Node{Step: c.step, Leaf: c.leaf})
			queue = append(queue, c)
		}
	}
	return s, nil
}

// Len returns the number of paths.
func (s *Set) Len() int { return len(s.paths) }

// Paths returns the paths in the order of NewSet's arguments. The slice is shared and must not be changed.
func (s *Set) Paths() []Path { return s.paths }

// Nodes returns the nodes of the tree. Nodes()[0] is the whole message. The slice is shared and must not be changed.
func (s *Set) Nodes() []Node { return s.nodes }
