package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// guessed are the types that guess considers. The others are named with -t: the bytes of y3n are those of y3 but for the
// integers, which nothing marks as such, and each further type makes more messages valid as several.
var guessed = []string{"cbor", "json", "y3"}

// guess returns the one format of those guessed that data is a valid message of. Where several accept it, those count that
// see more than one value in it, since nearly any short input is a number to one of them.
func guess(formats []format.Format, data []byte) (format.Format, error) {
	var valid []format.Format
	var why []string
	for _, f := range formats {
		if !slices.Contains(guessed, f.Name()) {
			continue
		}
		if err := f.Validate(data, format.Options{}); err != nil {
			why = append(why, fmt.Sprintf("\n  as %s: %v", f.Name(), err))
			continue
		}
		valid = append(valid, f)
	}
	if len(valid) == 0 {
		return nil, fmt.Errorf("no message of a type known here:%s\nsay which one counts with -t", strings.Join(why, ""))
	}
	candidates := valid
	if len(valid) > 1 {
		candidates = nil
		for _, f := range valid {
			if holdsMany(f, data) {
				candidates = append(candidates, f)
			}
		}
	}
	if len(candidates) != 1 {
		return nil, usagef("the bytes are a valid message as %s: say which with -t", strings.Join(names(valid), " and as "))
	}
	return candidates[0], nil
}

// errSeen ends a walk that has seen enough.
var errSeen = errors.New("seen")

// holdsMany reports whether data is more than a container around one scalar.
func holdsMany(f format.Format, data []byte) bool {
	values := 0
	err := f.Walk(data, func(field.Step, int, field.Span) error {
		if values++; values > 2 {
			return errSeen
		}
		return nil
	})
	return errors.Is(err, errSeen)
}
