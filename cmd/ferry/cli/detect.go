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

// byName returns the format of that name, which the command line has checked.
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

// detect returns the one format that data is a valid message of.
//
// Formats of format.DetectFirst come first. If several of them accept data, or only a numbered one, those remain that find more
// in it than a container around one scalar: nearly any short input is a number to some format, and a protobuf message within
// another looks like one Y3 primitive. If none accepts data, those of format.DetectSecond are tried, which must find a map.
func detect(formats []format.Format, data []byte) (format.Format, error) {
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
		candidates = slices.DeleteFunc(slices.Clone(found), func(f format.Format) bool { return !hasValues(f, data, 3) })
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

// isMap reports whether data is a map that is not empty. Any byte below 0x80 is a number in MessagePack.
func isMap(f format.Format, data []byte) bool {
	whole, err := f.Lookup(data, field.Path{})
	return err == nil && whole.Kind == field.Map && hasValues(f, data, 2)
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// hasValues reports whether data has at least so many values, containers included.
func hasValues(f format.Format, data []byte, values int) bool {
	err := f.Walk(data, func(field.Step, int, field.Span) error {
		if values--; values == 0 {
			return errEnough
		}
		return nil
	})
	return errors.Is(err, errEnough)
}
