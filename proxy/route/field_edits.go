package route

import (
	"example.com/ferry/protocol/http1"
	"example.com/ferry/protocol/httprule"
)

// FieldEdits is a route's Edits in two forms: names and values for any protocol, and bytes that are already encoded
// for HTTP/1.1. A nil FieldEdits changes nothing. Many goroutines may use it.
type FieldEdits struct {
	remove [][]byte // names in Edits.Remove and Edits.Set
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

// Removes reports whether a field of that name is removed, as is one whose name is the same variable for some servers: X_User beside X-User.
func (f *FieldEdits) Removes(name []byte) bool {
	if f == nil {
		return false
	}
	for _, each := range f.remove {
		if httprule.SameVariable(name, each) {
			return true
		}
	}
	return false
}

// Written returns the fields that are set or added, in order. The caller must not change the slice.
func (f *FieldEdits) Written() []http1.Pair {
	if f == nil {
		return nil
	}
	return f.write
}

// HTTP1 returns the same edits in the encoding of HTTP/1.1.
func (f *FieldEdits) HTTP1() *http1.Edits {
	if f == nil {
		return nil
	}
	return f.http1
}
