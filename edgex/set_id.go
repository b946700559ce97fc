package edgex

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var idPaths = []field.Path{field.MustParse("id"), field.MustParse("event.id")}

// SetID changes the ID of an encoded Event or AddEventRequest. If the new ID is as long as the old one, as all UUIDs are, it
// overwrites data and returns it, at a cost that does not depend on the event's size. Otherwise it returns a copy and leaves
// data unchanged. View can change other fields, too, and works in envelopes.
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
