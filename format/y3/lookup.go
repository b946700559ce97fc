package y3

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Format is the format of one dialect: P, unless it says otherwise.
type Format struct{ Dialect Dialect }

var (
	_ format.Format  = Format{}
	_ format.Patcher = Format{}
	_ format.Caster  = Format{}
)

// Name returns "y3" for dialect P and "y3n" for N.
func (f Format) Name() string {
	if f.Dialect == N {
		return "y3n"
	}
	return "y3"
}

// Lookup returns where the value at p lies: the key of each step is the low six bits of a tag in hex, 0x10; a decimal
// step is an index in a slice. It reads tags and lengths only, up to the hit, and copies nothing; the Span is valid as
// long as data is. The empty path is the whole message. A missing key gives field.ErrNotFound; data that ends early gives
// io.ErrUnexpectedEOF, wrapped; anything else malformed gives *format.SyntaxError. Y3 SPEC draft-01.
func (f Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	steps := p.Steps()
	if len(steps) == 0 {
		return field.Span{End: len(data), Kind: field.Map}, nil
	}
	at := Packet{Tag: nodeFlag, End: len(data)}
	isList := false
	for i := range steps {
		want, skip := steps[i].Key, 0
		if isList {
			want, skip = 0, steps[i].Index
		}
		if want|skip < 0 || at.Tag&nodeFlag == 0 {
			return field.Span{}, field.ErrNotFound
		}
		var err error
		if at, err = seek(data, at.Off, at.End, byte(want), skip); err != nil {
			return field.Span{}, err
		}
		isList = f.Dialect.kind(data, at.Tag, at.Off, at.End) == field.List
	}
	return f.Dialect.span(data, at), nil
}

// seek returns the packet with a key, after skip others of the same key, among those in data[pos:end].
func seek(data []byte, pos, end int, key byte, skip int) (Packet, error) {
	b := data[:end]
	for pos < len(b) {
		if uint(pos)+1 >= uint(len(b)) {
			return Packet{}, ends(data, pos, end, 0)
		}
		tag, n, off := b[pos], int(b[pos+1]), pos+2
		if n >= 0x40 {
			var err error
			if n, off, err = length(data, pos+1, end); err != nil {
				return Packet{}, err
			}
		}
		if n > len(b)-off {
			return Packet{}, ends(data, off, end, n)
		}
		if tag&keyMask == key {
			if skip == 0 {
				return Packet{Tag: tag, Head: pos, Off: off, End: off + n}, nil
			}
			skip--
		}
		pos = off + n
	}
	return Packet{}, field.ErrNotFound
}
