package edgex

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var idPaths = []field.Path{field.MustParse("id"), field.MustParse("event.id")}

// SetID changes the ID of an encoded Event or AddEventRequest. If the new ID has the length of the old one, as with two UUIDs,
// SetID overwrites data and returns data. The cost does not depend on the event's size. Otherwise SetID returns a copy and
// leaves data unchanged. View can also change other fields, and events within envelopes.
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
