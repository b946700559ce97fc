package edgex

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var (
	idPaths     = []field.Path{field.MustParse("id"), field.MustParse("event.id")}
	devicePaths = []field.Path{field.MustParse("deviceName"), field.MustParse("event.deviceName")}
)

// SetID changes the ID of an encoded Event or AddEventRequest. Where the new one is as long as the old one, as all UUIDs
// are, data itself is overwritten and returned, at a cost that does not depend on what the event holds; else a copy is
// returned, and data is as it was.
func SetID(p format.Patcher, data []byte, id string) ([]byte, error) {
	return set(p, data, idPaths, id)
}

// SetDeviceName changes the device name of an encoded Event or AddEventRequest, as SetID does. The names in its readings
// stay.
func SetDeviceName(p format.Patcher, data []byte, name string) ([]byte, error) {
	return set(p, data, devicePaths, name)
}

func set(p format.Patcher, data []byte, paths []field.Path, text string) ([]byte, error) {
	v := field.Value{Kind: field.Text, Bytes: []byte(text)}
	var err error
	for _, path := range paths {
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
	return nil, fmt.Errorf("edgex: set %s of an event: %w", paths[0], err)
}
