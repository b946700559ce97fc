package edgex

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var idPaths = []field.Path{field.MustParse("id"), field.MustParse("event.id")}

// SetID changes the ID of an encoded Event or AddEventRequest. Where the new one is as long as the old one, as all UUIDs
// are, data itself is overwritten and returned, at a cost that does not depend on what the event holds; else a copy is
// returned, and data is as it was. View changes more, in envelopes too.
func SetID(p format.Patcher, data []byte, id string) ([]byte, error) {
	v := field.Value{Kind: field.Text, Bytes: []byte(id)}
	var err error
	for _, path := range idPaths {
		var done bool
		if done, err = p.PatchInPlace(data, path, v); done {
			return data, nil
		}
		var out []byte
		if err == nil {
			out, err = p.Patch(nil, data, path, v)
		}
		if err == nil {
			return out, nil
		}
		if !errors.Is(err, field.ErrNotFound) {
			break
		}
	}
	return nil, fmt.Errorf("edgex: set the id of an event: %w", err)
}
