package nats

import "example.com/ferry/engine"

// ranges are sorted and do not touch.
type ranges []engine.Range

// rangesOf returns the ranges of sorted numbers.
func rangesOf(numbers []uint64) ranges {
	var out ranges
	for _, n := range numbers {
		if k := len(out) - 1; k >= 0 && out[k].First+out[k].Count == n {
			out[k].Count++
		} else {
			out = append(out, engine.Range{First: n, Count: 1})
		}
	}
	return out
}

// without returns what of r is not in other.
func (r ranges) without(other ranges) ranges {
	var out ranges
	for _, a := range r {
		for first, end := a.First, a.First+a.Count; first < end; {
			for len(other) > 0 && other[0].First+other[0].Count <= first {
				other = other[1:]
			}
			if len(other) == 0 || other[0].First >= end {
				out = append(out, engine.Range{First: first, Count: end - first})
				break
			}
			if other[0].First > first {
				out = append(out, engine.Range{First: first, Count: other[0].First - first})
			}
			first = other[0].First + other[0].Count
		}
	}
	return out
}

// within returns what of r lies in first to last.
func (r ranges) within(first, last uint64) ranges {
	if first > last {
		return nil
	}
	window := ranges{{First: first, Count: last - first + 1}}
	return window.without(window.without(r))
}

// with returns r and other together.
func (r ranges) with(other ranges) ranges {
	var out ranges
	for added := other.without(r); len(r) > 0 || len(added) > 0; {
		next := &r
		if len(r) == 0 || len(added) > 0 && added[0].First < r[0].First {
			next = &added
		}
		a := (*next)[0]
		*next = (*next)[1:]
		if k := len(out) - 1; k >= 0 && out[k].First+out[k].Count == a.First {
			out[k].Count += a.Count
		} else {
			out = append(out, a)
		}
	}
	return out
}
