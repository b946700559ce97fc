package route

import (
	"bytes"

	"example.com/ferry/protocol/http1"
)

// FieldEdits are a route's Edits as each protocol applies them: by name and value, or in HTTP/1.1's encoding, which is made
// once. A nil FieldEdits changes nothing. It may be used by many goroutines.
type FieldEdits struct {
	remove [][]byte // names of Edits.Remove and Edits.Set
	write  []http1.Pair
	http1  *http1.Edits
}

func newFieldEdits(e Edits) (*FieldEdits, error) {
	encoded, err := http1.NewEdits(e.Set, e.Add, e.Remove)
	if err != nil {
		return nil, err
	}
	f := &FieldEdits{http1: encoded}
	for _, name := range e.Remove {
		f.remove = append(f.remove, []byte(name))
	}
	for _, pair := range e.Set {
		f.remove = append(f.remove, []byte(pair.Name))
	}
	f.write = append(append(f.write, e.Set...), e.Add...)
	return f, nil
}

// Removes reports whether the fields of that name do not go on.
func (f *FieldEdits) Removes(name []byte) bool {
	if f == nil {
		return false
	}
	for _, each := range f.remove {
		if bytes.EqualFold(each, name) {
			return true
		}
	}
	return false
}

// Written returns the fields that are set or added, in order. It must not be changed.
func (f *FieldEdits) Written() []http1.Pair {
	if f == nil {
		return nil
	}
	return f.write
}

// HTTP1 returns the same edits in HTTP/1.1's encoding.
func (f *FieldEdits) HTTP1() *http1.Edits {
	if f == nil {
		return nil
	}
	return f.http1
}
