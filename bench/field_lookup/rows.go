package main

import (
	"bytes"
	"runtime"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// contender is one measured way to find a value by its key in messages of one encoding. It is a row of the report.
type contender struct {
	name    string
	kind    harness.Kind
	version string
	in      *encoding
	want    func(v value) []byte // the bytes that find must return for a value; nil if find returns a Go value

	// finder prepares a lookup of keys. op looks up the last key. find does the same and returns the value, or nil.
	finder func(keys ...int) finder
}

type finder struct {
	find func(doc []byte) []byte
	op   func(doc []byte) int // its results are added up, so that the compiler cannot remove the call
	all  func(doc []byte) int // op for all keys
	full func(doc []byte) int // validates the whole message, then runs op; nil if the library has no validation
}

// ferryRow looks up through the interface, with paths parsed at run time. It is not inlined, so that the compiler cannot
// see through the interface.
//
//go:noinline
func ferryRow(name string, in *encoding, f format.Format) contender {
	return contender{name, harness.Ferry, "this commit", in, in.content, func(keys ...int) finder {
		var paths []field.Path
		for _, key := range keys {
			paths = append(paths, field.MustParse(in.path(key)))
		}
		p, set := paths[len(paths)-1], mustSet(paths)
		spans := make([]field.Span, len(paths))
		return finder{
			find: func(doc []byte) []byte {
				s, err := f.Lookup(doc, p)
				if err != nil {
					return nil
				}
				return doc[s.Off:s.End]
			},
			op: func(doc []byte) int {
				s, _ := f.Lookup(doc, p)
				return s.Off
			},
			all: func(doc []byte) int {
				_ = f.Find(doc, set, spans)
				sum := 0
				for i := range spans {
					sum += spans[i].Off
				}
				return sum
			},
			full: func(doc []byte) int {
				if f.Validate(doc, format.Options{}) != nil {
					return 0
				}
				s, _ := f.Lookup(doc, p)
				return s.Off
			},
		}
	}}
}

// scanRow returns the row of a limit. Its scan returns the offsets of the value. K is the type of the keys.
func scanRow[K any](name string, in *encoding, scan func(data []byte, key K) (off, end int, ok bool), keyOf func(int) K) contender {
	return contender{name, harness.Limit, "hand-written", in, in.content, func(keys ...int) finder {
		var each []K
		for _, key := range keys {
			each = append(each, keyOf(key))
		}
		key := each[len(each)-1]
		return finder{
			find: func(doc []byte) []byte {
				off, end, ok := scan(doc, key)
				if !ok {
					return nil
				}
				return doc[off:end]
			},
			op: func(doc []byte) int {
				off, _, _ := scan(doc, key)
				return off
			},
			all: func(doc []byte) int {
				sum := 0
				for _, key := range each {
					off, _, _ := scan(doc, key)
					sum += off
				}
				return sum
			},
		}
	}}
}

// measure times one contender in one case: ops look into one message after the other.
func (c contender) measure(name string, budget time.Duration) harness.Figures {
	switch name {
	case cold:
		w := workloads[c63]
		return harness.Time(each(coldDocs(w.docs(c.in)[0]), c.finder(w.key).op), budget)
	case four:
		return harness.Time(each(workloads[c63].docs(c.in), c.finder(fourKeys[:]...).all), budget)
	case validated:
		w := workloads[c63]
		f := c.finder(w.key)
		if f.full == nil {
			return nil
		}
		return harness.Time(each(w.docs(c.in), f.full), budget)
	}
	w := workloads[name]
	op := each(w.docs(c.in), c.finder(w.key).op)
	f := harness.Time(op, budget)
	f[harness.ParallelPerOp] = harness.Parallel(op, budget)
	f[harness.Growth] = f[harness.NsPerOp] / f[harness.ParallelPerOp]
	return f
}

// each returns an Op that cycles through docs, and continues where its last call stopped. It may run on several cores at
// once.
func each(docs [][]byte, op func(doc []byte) int) harness.Op {
	start := 0
	return func(n int) {
		sum, mask, at := 0, len(docs)-1, start
		for i := range n {
			sum += op(docs[(at+i)&mask])
		}
		if len(docs) > shuffledDocs { // the cold ones, for one core only
			start = at + n
		}
		runtime.KeepAlive(sum)
	}
}

// measureBoth runs a loop that looks the field up by a and then by b, and returns the share of the CPU time that a takes. It
// returns nil if a and b are the same contender.
func measureBoth(a, b contender, budget time.Duration) harness.Figures {
	if a.name == b.name || b.kind == harness.Limit {
		return nil
	}
	w := workloads[c63]
	first, second := each(w.docs(a.in), a.finder(w.key).op), each(w.docs(b.in), b.finder(w.key).op)
	alone := harness.Time(first, budget/2)[harness.CPUPerOp]
	loop := harness.Time(func(n int) {
		for range n {
			first(1)
			second(1)
		}
	}, budget)[harness.CPUPerOp]
	return harness.Figures{harness.CPUPerOp: loop, y3Share: 100 * alone / loop}
}

// agrees reports whether the contender finds the right value in each message of w, and the right values of fourKeys.
func (c contender) agrees(w workload) bool {
	f := c.finder(w.key)
	for _, doc := range w.docs(c.in) {
		got := f.find(doc)
		switch {
		case !w.present:
			if got != nil {
				return false
			}
		case c.want == nil:
			if got == nil {
				return false
			}
		case !bytes.Equal(got, c.want(valueOf(w.key))):
			return false
		}
	}
	return true
}

// agreesOnFour compares all keys found in one pass with each of them found alone.
func (c contender) agreesOnFour() bool {
	for _, name := range []string{c63, shuffled} {
		for _, doc := range workloads[name].docs(c.in) {
			sum := 0
			for _, key := range fourKeys {
				f := c.finder(key)
				if c.want != nil && !bytes.Equal(f.find(doc), c.want(valueOf(key))) {
					return false
				}
				sum += f.op(doc)
			}
			if c.finder(fourKeys[:]...).all(doc) != sum {
				return false
			}
		}
	}
	return true
}

func mustSet(paths []field.Path) *field.Set {
	s, err := field.NewSet(paths...)
	if err != nil {
		panic(err) // constants of this program
	}
	return s
}
