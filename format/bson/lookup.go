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

// Lookup returns where the value at p lies in data, as byte offsets. Head is the offset of the element's type, so
// data[Head:Off] is the type, the key and the length. The NUL after a text is not part of the span. A step is a key of
// a document, or an index in an array. Elements of an array are counted; their keys are ignored. Documents outside the
// path are skipped by their length and not validated. Lookup allocates nothing. A missing key gives field.ErrNotFound,
// data that ends early io.ErrUnexpectedEOF, other malformed data *format.SyntaxError.
func (Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	at, err := locate(data, p, nil)
	if err != nil {
		return field.Span{}, err
	}
	return at.span(data)
}

// valuePlace is the position of a value and its element.
type valuePlace struct {
	head  int // offset of the element; 0 for the whole message, because no element starts at offset 0
	value int // offset of the value, which begins with its length if it has one
	limit int // offset of the NUL that closes the container around the element
}

// wholeMessage is the valuePlace of the outermost document.
var wholeMessage = valuePlace{limit: math.MaxInt}

// typ returns the type of the value.
func (at valuePlace) typ(data []byte) byte {
	if at.head == 0 {
		return typeDocument
	}
	return data[at.head]
}

// locate returns the place of the value at p. If containers is not nil, locate also stores there the offset of each
// enclosing container.
func locate(data []byte, p field.Path, containers *[field.MaxSteps]int) (valuePlace, error) {
	at := wholeMessage
	steps := p.Steps()
	for i := range steps {
		typ := at.typ(data)
		if typ != typeDocument && typ != typeArray {
			return at, field.ErrNotFound
		}
		if containers != nil {
			containers[i] = at.value
		}
		c, err := openContainer(data, at.value, at.limit)
		if err != nil {
			return at, err
		}
		if typ == typeArray {
			at, err = c.findItem(data, steps[i].Index)
		} else {
			at, err = c.findMember(data, steps[i].Name)
		}
		if err != nil {
			return at, err
		}
	}
	return at, nil
}

// findMember returns the first element of c with this name.
func (c container) findMember(data []byte, name string) (valuePlace, error) {
	var w field.KeyFilter
	w.Add(&field.Step{Name: name, Index: -1, Key: -1})
	for next := c.pos; ; {
		pos, value, _ := skipElements(data, next, c, math.MaxInt, w.Names)
		if value == 0 {
			more, err := c.hasElement(data, pos)
			if err != nil {
				return valuePlace{}, err
			}
			if !more {
				return valuePlace{}, field.ErrNotFound
			}
			if value, err = c.valueOffset(data, pos); err != nil {
				return valuePlace{}, err
			}
		}
		if string(data[pos+1:value-1]) == name {
			return valuePlace{pos, value, c.end}, nil
		}
		var err error
		if next, err = skipValue(data, data[pos], value, c.end); err != nil {
			return valuePlace{}, err
		}
	}
}

// findItem returns the element of c with this index. If index is negative, the error is field.ErrNotFound.
func (c container) findItem(data []byte, index int) (valuePlace, error) {
	if index < 0 {
		return valuePlace{}, field.ErrNotFound
	}
	for pos, left := c.pos, index; ; left-- {
		pos, _, left = skipElements(data, pos, c, left, 0)
		more, err := c.hasElement(data, pos)
		if err != nil {
			return valuePlace{}, err
		}
		if !more {
			return valuePlace{}, field.ErrNotFound
		}
		value, err := c.valueOffset(data, pos)
		if err != nil {
			return valuePlace{}, err
		}
		if left == 0 {
			return valuePlace{pos, value, c.end}, nil
		}
		if pos, err = skipValue(data, data[pos], value, c.end); err != nil {
			return valuePlace{}, err
		}
	}
}
