package incremental

import (
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Item describes one item, as far as its head shows. Offsets count from the item's first byte.
type Item struct {
	Kind     field.Kind
	Off, End int    // start and end of the content; for a container and an Open string both are the end of the head
	Items    uint64 // number of direct children that the head of a container claims, keys included
	Open     bool   // the item is a container or string that a break ends
	Break    bool   // the item is a break
	Tag      bool   // the item is a tag, which belongs to the next item
}

// HeadReader reads the items of a format whose containers begin with the number of their children.
type HeadReader interface {
	// Head reads the head at the start of b. A break gives a *format.SyntaxError unless mayBreak is set.
	Head(b []byte, mayBreak bool) (Item, error)

	// SkipScalars skips up to n scalars at the start of b. It stops at an incomplete item and at an item whose length
	// takes long to compute. It returns the size of the skipped items in bytes, and how many of the n items remain.
	SkipScalars(b []byte, n uint64) (size int, left uint64)

	// KeyMatches reports whether st matches the key b. The key is a text or an integer without tags.
	KeyMatches(b []byte, st *field.Step) bool
}

// CountedGrammar is the Grammar of formats that have a HeadReader. It also reads the items of containers outside the
// path, because only their content shows where they end.
type CountedGrammar struct {
	heads    HeadReader
	steps    []field.Step
	maxDepth int

	step        int             // index in steps of the step that is searched next
	onPath      bool            // the next item is on the path
	containers  []openContainer // open containers: the innermost container on the path, then the skipped containers inside it
	itemsBefore int             // number of items before the item on the path, in a list
	tagged      bool            // the next item has tags before it
	tagOffset   int             // offset of the first tag before the next item

	openString field.Kind    // kind of the string whose chunks are read; Missing outside such a string
	restOfName string        // part of the step's name that the next chunks of a key must match
	purpose    stringPurpose // why the chunks of openString are read
}

// stringPurpose tells why a string in chunks is read.
type stringPurpose uint8

const (
	skipString stringPurpose = iota // the string is outside the path
	matchKey                        // the string is a key; all chunks so far match the step
	keepValue                       // the string is the value
)

// openContainer is a container whose end has not been read.
type openContainer struct {
	left  uint64 // number of items that follow; counts down from unknownCount if a break ends the container
	open  bool   // a break ends the container
	pairs bool   // the container is a map
}

// unknownCount exceeds the number of items in any message. It is even, because a map counts keys and values.
const unknownCount = 1 << 62

// NewCounted returns the Grammar that searches for the value at p.
func NewCounted(heads HeadReader, p field.Path, o format.SearchOptions) *CountedGrammar {
	return &CountedGrammar{heads: heads, steps: p.Steps(), maxDepth: o.Depth()}
}

// Start implements Grammar.
func (c *CountedGrammar) Start(*Search) {
	*c = CountedGrammar{heads: c.heads, steps: c.steps, maxDepth: c.maxDepth, containers: c.containers[:0], onPath: true}
}

// End implements Grammar.
func (c *CountedGrammar) End(*Search) error { return io.ErrUnexpectedEOF }

// Next implements Grammar.
func (c *CountedGrammar) Next(s *Search, b []byte) (int, error) {
	switch {
	case c.openString != field.Missing:
		return c.nextChunk(s, b)
	case c.onPath:
		return c.followPath(s, b)
	}
	in := &c.containers[len(c.containers)-1]
	if in.left == 0 {
		c.leaveContainer(s)
		return 0, nil
	}
	if len(c.containers) > 1 && !c.tagged {
		n, left := c.heads.SkipScalars(b, in.left)
		if in.left = left; n > 0 {
			return n, nil
		}
	}
	it, err := c.heads.Head(b, in.open && !c.tagged && (!in.pairs || in.left%2 == 0))
	switch {
	case err != nil:
		return 0, err
	case it.Break:
		c.leaveContainer(s)
		return it.Off, nil
	case it.Tag:
		return c.skipTag(s, it), nil
	case len(c.containers) > 1:
	case !in.pairs:
		if c.itemsBefore == 0 {
			c.onPath = true
			return 0, nil
		}
		c.itemsBefore--
	case in.left%2 == 0:
		return c.matchKeyItem(s, b, in, it)
	}
	in.left--
	return c.skipItem(s, it)
}

// leaveContainer closes the innermost container. If this container was on the path, the value is absent.
func (c *CountedGrammar) leaveContainer(s *Search) {
	if c.containers = c.containers[:len(c.containers)-1]; len(c.containers) == 0 {
		s.Absent()
	}
}

// skipTag skips a tag and stores the offset of the first tag before the item.
func (c *CountedGrammar) skipTag(s *Search, it Item) int {
	if !c.tagged {
		c.tagged, c.tagOffset = true, s.Off()
	}
	return it.Off
}

// skipItem skips an item outside the path.
func (c *CountedGrammar) skipItem(s *Search, it Item) (int, error) {
	c.tagged = false
	switch {
	case it.Kind == field.Map || it.Kind == field.List:
		return it.Off, c.enterContainer(s, it)
	case it.Open:
		c.openString, c.purpose = it.Kind, skipString
		return it.Off, nil
	}
	return it.End, nil
}

// enterContainer adds a container to the open containers.
func (c *CountedGrammar) enterContainer(s *Search, it Item) error {
	if c.step+len(c.containers) > c.maxDepth {
		return s.Syntax(0, fmt.Sprintf("nested deeper than %d levels", c.maxDepth))
	}
	in := openContainer{left: min(it.Items, unknownCount), open: it.Open, pairs: it.Kind == field.Map}
	if in.open {
		in.left = unknownCount
	}
	c.containers = append(c.containers, in)
	return nil
}

// followPath reads the item at the start of b, which is on the path.
func (c *CountedGrammar) followPath(s *Search, b []byte) (int, error) {
	it, err := c.heads.Head(b, false)
	switch {
	case err != nil:
		return 0, err
	case it.Tag:
		return c.skipTag(s, it), nil
	case c.step == len(c.steps):
		return c.foundValue(s, it)
	case it.Kind != field.Map && it.Kind != field.List:
		s.Absent()
		return 0, nil
	}
	st := &c.steps[c.step]
	if it.Kind == field.List && (st.Index < 0 || !it.Open && uint64(st.Index) >= it.Items) {
		s.Absent()
		return 0, nil
	}
	c.onPath, c.tagged, c.itemsBefore, c.containers = false, false, st.Index, c.containers[:0]
	c.step++
	return it.Off, c.enterContainer(s, it)
}

// foundValue tells the Search that the item is the value.
func (c *CountedGrammar) foundValue(s *Search, it Item) (int, error) {
	at := s.Off()
	span := field.Span{Head: at, Off: at + it.Off, End: -1, Kind: it.Kind}
	if c.tagged {
		span.Head = c.tagOffset
	}
	switch {
	case it.Kind == field.Map || it.Kind == field.List:
		s.Container(span)
	case it.Open:
		c.openString, c.purpose = it.Kind, keepValue
		s.Scalar(span, at)
	default:
		span.End = Add(at, uint64(it.End))
		s.Scalar(span, at)
	}
	return it.End, nil
}

// matchKeyItem compares the key at the start of b with the current step. The key belongs to the map on the path.
func (c *CountedGrammar) matchKeyItem(s *Search, b []byte, in *openContainer, it Item) (int, error) {
	st := &c.steps[c.step-1]
	hit := false
	switch {
	case it.Kind == field.Text && it.Open:
		c.restOfName, c.purpose, c.openString = st.Name, matchKey, it.Kind
		in.left--
		c.tagged = false
		return it.Off, nil
	case it.Kind == field.Text && it.End-it.Off == len(st.Name) || it.Kind == field.Int:
		if it.End > len(b) {
			return 0, io.ErrUnexpectedEOF
		}
		hit = c.heads.KeyMatches(b[:it.End], st)
	}
	in.left--
	c.onPath = hit
	return c.skipItem(s, it)
}

// nextChunk reads the next chunk of an open string, or the break that ends the string.
func (c *CountedGrammar) nextChunk(s *Search, b []byte) (int, error) {
	it, err := c.heads.Head(b, true)
	switch {
	case err != nil:
		return 0, err
	case it.Break:
		kind := c.openString
		c.openString = field.Missing
		switch c.purpose {
		case matchKey:
			c.onPath = c.restOfName == ""
		case keepValue:
			s.Ends(s.Off()+it.Off, kind)
		}
		return it.Off, nil
	case it.Kind != c.openString || it.Open || it.Tag:
		return 0, s.Syntax(0, fmt.Sprintf("byte 0x%02x where a chunk of an open string should start", b[0]))
	}
	if c.purpose != matchKey {
		return it.End, nil
	}
	if size := it.End - it.Off; size <= len(c.restOfName) {
		if it.End > len(b) {
			return 0, io.ErrUnexpectedEOF
		}
		if string(b[it.Off:it.End]) == c.restOfName[:size] {
			c.restOfName = c.restOfName[size:]
			return it.End, nil
		}
	}
	c.purpose = skipString
	return it.End, nil
}
