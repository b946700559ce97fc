package feed

import (
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Item is the head of one item of a message, in offsets from its first byte.
type Item struct {
	Kind     field.Kind
	Off, End int    // its content, where End may be far away; a container, and what is Open, ends with its head
	Items    uint64 // what a container holds directly, keys included; it may be any claim
	Open     bool   // a container or string, Items unknown: it goes on until a break
	Break    bool   // it is a break
	Tag      bool   // it belongs to the item that follows
}

// Heads reads the items of a format whose containers count what they hold.
type Heads interface {
	// Head reads the head that b starts with. A break is a *format.SyntaxError unless it may stand there.
	Head(b []byte, mayBreak bool) (Item, error)

	// Pass goes over the items at the start of b, at most n, that are all there and hold no others, as far as that is
	// quickly told. It returns how many bytes they take, and how many of the n are left.
	Pass(b []byte, n uint64) (size int, left uint64)

	// Is reports whether st asks for the key that b is: a text or an integer without tags.
	Is(b []byte, st *field.Step) bool
}

// Counted is the Grammar of such a format. Containers that are passed over are entered, as nothing else tells their end.
type Counted struct {
	heads Heads
	steps []field.Step
	depth int

	step   int     // of the path, that the next item on the path is asked for
	onPath bool    // the next item is on the path
	levels []level // open containers: the one on the path, and those in it that are passed over
	index  int     // items of the list on the path that come before the one sought
	tagged bool    // tags stand before the next item
	head   int     // offset of the first of them

	string field.Kind // of the string whose chunks come next; else Missing
	name   string     // what is left of the name that a key in chunks may be
	use    use        // of the string
}

// use is what a string in chunks is read for.
type use uint8

const (
	passed use = iota
	asKey      // it is what was sought up to now
	asValue
)

// level is an open container.
type level struct {
	left  uint64 // items still to come; of an open one, as many as there can be at most
	open  bool
	pairs bool
}

// endless is more items than a message can hold; an even number, as it counts keys and values.
const endless = 1 << 62

// NewCounted returns the grammar for the value at p.
func NewCounted(heads Heads, p field.Path, o format.SeekOptions) *Counted {
	return &Counted{heads: heads, steps: p.Steps(), depth: o.Depth()}
}

// Start implements Grammar.
func (c *Counted) Start(*Search) {
	*c = Counted{heads: c.heads, steps: c.steps, depth: c.depth, levels: c.levels[:0], onPath: true}
}

// End implements Grammar.
func (c *Counted) End(*Search) error { return io.ErrUnexpectedEOF }

// Next implements Grammar.
func (c *Counted) Next(s *Search, b []byte) (int, error) {
	switch {
	case c.string != field.Missing:
		return c.chunk(s, b)
	case c.onPath:
		return c.follow(s, b)
	}
	in := &c.levels[len(c.levels)-1]
	if in.left == 0 {
		c.leave(s)
		return 0, nil
	}
	if len(c.levels) > 1 && !c.tagged {
		n, left := c.heads.Pass(b, in.left)
		if in.left = left; n > 0 {
			return n, nil
		}
	}
	it, err := c.heads.Head(b, in.open && !c.tagged && (!in.pairs || in.left%2 == 0))
	switch {
	case err != nil:
		return 0, err
	case it.Break:
		c.leave(s)
		return it.Off, nil
	case it.Tag:
		return c.tag(s, it), nil
	case len(c.levels) > 1:
	case !in.pairs:
		if c.index == 0 {
			c.onPath = true
			return 0, nil
		}
		c.index--
	case in.left%2 == 0:
		return c.key(s, b, in, it)
	}
	in.left--
	return c.over(s, it)
}

// leave ends the innermost container.
func (c *Counted) leave(s *Search) {
	if c.levels = c.levels[:len(c.levels)-1]; len(c.levels) == 0 {
		s.Absent()
	}
}

// tag passes the tag it, and notes where the first one of an item stands.
func (c *Counted) tag(s *Search, it Item) int {
	if !c.tagged {
		c.tagged, c.head = true, s.Off()
	}
	return it.Off
}

// over passes it, which nobody seeks.
func (c *Counted) over(s *Search, it Item) (int, error) {
	c.tagged = false
	switch {
	case it.Kind == field.Map || it.Kind == field.List:
		return it.Off, c.enter(s, it)
	case it.Open:
		c.string, c.use = it.Kind, passed
		return it.Off, nil
	}
	return it.End, nil
}

// enter opens the container it.
func (c *Counted) enter(s *Search, it Item) error {
	if c.step+len(c.levels) > c.depth {
		return s.Syntax(0, fmt.Sprintf("nested deeper than %d levels", c.depth))
	}
	in := level{left: min(it.Items, endless), open: it.Open, pairs: it.Kind == field.Map}
	if in.open {
		in.left = endless
	}
	c.levels = append(c.levels, in)
	return nil
}

// follow takes the item on the path that b starts with.
func (c *Counted) follow(s *Search, b []byte) (int, error) {
	it, err := c.heads.Head(b, false)
	switch {
	case err != nil:
		return 0, err
	case it.Tag:
		return c.tag(s, it), nil
	case c.step == len(c.steps):
		return c.value(s, it)
	case it.Kind != field.Map && it.Kind != field.List:
		s.Absent()
		return 0, nil
	}
	st := &c.steps[c.step]
	if it.Kind == field.List && (st.Index < 0 || !it.Open && uint64(st.Index) >= it.Items) {
		s.Absent()
		return 0, nil
	}
	c.onPath, c.tagged, c.index, c.levels = false, false, st.Index, c.levels[:0]
	c.step++
	return it.Off, c.enter(s, it)
}

// value says that it is what is sought.
func (c *Counted) value(s *Search, it Item) (int, error) {
	at := s.Off()
	span := field.Span{Head: at, Off: at + it.Off, End: -1, Kind: it.Kind}
	if c.tagged {
		span.Head = c.head
	}
	switch {
	case it.Kind == field.Map || it.Kind == field.List:
		s.Container(span)
	case it.Open:
		c.string, c.use = it.Kind, asValue
		s.Scalar(span, at)
	default:
		span.End = Add(at, uint64(it.End))
		s.Scalar(span, at)
	}
	return it.End, nil
}

// key takes the key it, the start of b, of the map on the path.
func (c *Counted) key(s *Search, b []byte, in *level, it Item) (int, error) {
	st := &c.steps[c.step-1]
	hit := false
	switch {
	case it.Kind == field.Text && it.Open:
		c.name, c.use, c.string = st.Name, asKey, it.Kind
		in.left--
		c.tagged = false
		return it.Off, nil
	case it.Kind == field.Text && it.End-it.Off == len(st.Name) || it.Kind == field.Int:
		if it.End > len(b) {
			return 0, io.ErrUnexpectedEOF
		}
		hit = c.heads.Is(b[:it.End], st)
	}
	in.left--
	c.onPath = hit
	return c.over(s, it)
}

// chunk takes the chunk of an open string that b starts with, or the break behind the last one.
func (c *Counted) chunk(s *Search, b []byte) (int, error) {
	it, err := c.heads.Head(b, true)
	switch {
	case err != nil:
		return 0, err
	case it.Break:
		kind := c.string
		c.string = field.Missing
		switch c.use {
		case asKey:
			c.onPath = c.name == ""
		case asValue:
			s.Ends(s.Off()+it.Off, kind)
		}
		return it.Off, nil
	case it.Kind != c.string || it.Open || it.Tag:
		return 0, s.Syntax(0, fmt.Sprintf("byte 0x%02x where a chunk of an open string should start", b[0]))
	}
	if c.use != asKey {
		return it.End, nil
	}
	if size := it.End - it.Off; size <= len(c.name) {
		if it.End > len(b) {
			return 0, io.ErrUnexpectedEOF
		}
		if string(b[it.Off:it.End]) == c.name[:size] {
			c.name = c.name[size:]
			return it.End, nil
		}
	}
	c.use = passed
	return it.End, nil
}
