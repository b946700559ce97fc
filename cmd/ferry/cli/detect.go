package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// byName returns the format of that name; kong has let no other name through.
func byName(formats []format.Format, name string) format.Format {
	for _, f := range formats {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// byType returns the format of payloads of type t; nil if there is none.
func byType(formats []format.Format, t ferry.Type) format.Format {
	for _, f := range formats {
		if f.Descriptor().Type == t {
			return f
		}
	}
	return nil
}

// guess returns the one format that data is a valid message of.
//
// Formats of format.DetectFirst come first. If several of them accept data, or only a numbered one, those count that find more
// in it than a container around one scalar: nearly any short input is a number to some format, and a protobuf message within
// another looks like one Y3 primitive. If none accepts data, those of format.DetectSecond are tried, which must find a map.
func guess(formats []format.Format, data []byte) (format.Format, error) {
	var why []string
	valid := func(d format.Detection) (found []format.Format) {
		for _, f := range formats {
			if f.Descriptor().Detection != d {
				continue
			}
			if err := f.Validate(data, format.Options{}); err != nil {
				why = append(why, fmt.Sprintf("\n  as %s: %v", f.Name(), invalid(err, data)))
				continue
			}
			found = append(found, f)
		}
		return found
	}
	found := valid(format.DetectFirst)
	onlyNumbered := len(found) == 1 && found[0].Descriptor().Numbered
	candidates := found
	if len(found) > 1 || onlyNumbered {
		candidates = slices.DeleteFunc(slices.Clone(found), func(f format.Format) bool { return !holds(f, data, 3) })
	}
	if len(found) == 0 {
		found = valid(format.DetectSecond)
		candidates = slices.DeleteFunc(slices.Clone(found), func(f format.Format) bool { return !isMap(f, data) })
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("no message of a type known here:%s\nsay which one counts with -t", strings.Join(why, ""))
	case len(candidates) == 0 && onlyNumbered:
		return nil, usagef("the bytes are one value to %s, and may well be protobuf: say which with -t", found[0].Name())
	case len(candidates) != 1:
		return nil, usagef("the bytes are a valid message as %s: say which with -t", strings.Join(names(found), " and as "))
	}
	return candidates[0], nil
}

// isMap reports whether data is a map with something in it: to MessagePack any short byte is a number.
func isMap(f format.Format, data []byte) bool {
	whole, err := f.Lookup(data, field.Path{})
	return err == nil && whole.Kind == field.Map && holds(f, data, 2)
}

// errSeen ends a walk that has seen enough.
var errSeen = errors.New("seen")

// holds reports whether data is at least so many values, containers included.
func holds(f format.Format, data []byte, values int) bool {
	err := f.Walk(data, func(field.Step, int, field.Span) error {
		if values--; values == 0 {
			return errSeen
		}
		return nil
	})
	return errors.Is(err, errSeen)
}
