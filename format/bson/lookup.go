package bson

import (
	"math"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Format is BSON, version 1.1.
type Format struct{}

var (
	_ format.Format  = Format{}
	_ format.Patcher = Format{}
	_ format.Viewer  = Format{}
)

// Name returns "bson".
func (Format) Name() string { return "bson" }

// Descriptor returns the properties of BSON.
func (Format) Descriptor() format.Descriptor {
	return format.Descriptor{Type: ferry.BSON, Detection: format.DetectSecond}
}

// Lookup returns where the value at p lies in data, as byte offsets. Head is that of the element's type, so that
// data[Head:Off] is its type, key and length; the NUL behind a text is not part of the span. A step names a key of a
// document, or counts the elements of an array, whatever their keys are. Documents on the way that do not lead to the hit
// are passed by their length, and trusted. It allocates nothing. A missing key gives field.ErrNotFound; data that ends
// early io.ErrUnexpectedEOF; anything else malformed *format.SyntaxError.
func (Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	at, err := locate(data, p, nil)
	if err != nil {
		return field.Span{}, err
	}
	return at.span(data)
}

// place is where a value stands.
type place struct {
	head  int // of the element; 0 for the message itself, as no element starts there
	value int // offset of the value, with its length
	limit int // end of what it stands in, where its closing NUL is
}

// message is the place of the outermost document.
var message = place{limit: math.MaxInt}

// typ is the type of the value.
func (at place) typ(data []byte) byte {
	if at.head == 0 {
		return typeDocument
	}
	return data[at.head]
}

// locate returns the place of the value at p. If containers is given, it gets the offset of each one that is entered.
func locate(data []byte, p field.Path, containers *[field.MaxSteps]int) (place, error) {
	at := message
	steps := p.Steps()
	for i := range steps {
		typ := at.typ(data)
		if typ != typeDocument && typ != typeArray {
			return at, field.ErrNotFound
		}
		if containers != nil {
			containers[i] = at.value
		}
		c, err := open(data, at.value, at.limit)
		if err != nil {
			return at, err
		}
		if typ == typeArray {
			at, err = c.item(data, steps[i].Index)
		} else {
			at, err = c.member(data, steps[i].Name)
		}
		if err != nil {
			return at, err
		}
	}
	return at, nil
}

// member returns the first element of that name.
func (c container) member(data []byte, name string) (place, error) {
	var w field.Sieve
	w.Add(&field.Step{Name: name, Index: -1, Key: -1})
	for next := c.pos; ; {
		pos, value, _ := pass(data, next, c, math.MaxInt, w.Names)
		if value == 0 {
			more, err := c.more(data, pos)
			if err != nil {
				return place{}, err
			}
			if !more {
				return place{}, field.ErrNotFound
			}
			if value, err = c.value(data, pos); err != nil {
				return place{}, err
			}
		}
		if string(data[pos+1:value-1]) == name {
			return place{pos, value, c.end}, nil
		}
		var err error
		if next, err = skip(data, data[pos], value, c.end); err != nil {
			return place{}, err
		}
	}
}

// item returns the element of that index, -1 for none.
func (c container) item(data []byte, index int) (place, error) {
	if index < 0 {
		return place{}, field.ErrNotFound
	}
	for pos, left := c.pos, index; ; left-- {
		pos, _, left = pass(data, pos, c, left, 0)
		more, err := c.more(data, pos)
		if err != nil {
			return place{}, err
		}
		if !more {
			return place{}, field.ErrNotFound
		}
		value, err := c.value(data, pos)
		if err != nil {
			return place{}, err
		}
		if left == 0 {
			return place{pos, value, c.end}, nil
		}
		if pos, err = skip(data, data[pos], value, c.end); err != nil {
			return place{}, err
		}
	}
}
