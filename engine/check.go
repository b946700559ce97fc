package engine

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/internal/topic"
)

// maxName is the longest name of a stream or cursor.
const maxName = 64

// CheckName returns an error if name cannot be the name of a stream or cursor. what says which of both it is.
func CheckName(what, name string) error {
	ok := name != "" && len(name) <= maxName
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if !ok {
		return fmt.Errorf("engine: %.80q cannot be the name of a %s: a name has 1 to %d letters, digits, - and _", name, what, maxName)
	}
	return nil
}

// Check returns an error if no engine can store a stream with that Config.
func (c Config) Check() error {
	if err := CheckName("stream", c.Name); err != nil {
		return err
	}
	if len(c.Tags) == 0 {
		return fmt.Errorf("engine: stream %q has no tags: name at least one filter", c.Name)
	}
	for i, filter := range c.Tags {
		if err := topic.CheckFilter(filter); err != nil {
			return fmt.Errorf("engine: stream %q: tags: %w", c.Name, err)
		}
		for _, other := range c.Tags[:i] {
			if topic.Overlap(filter, other) {
				return fmt.Errorf("engine: stream %q: tags: %q and %q match the same tags: keep the wider one", c.Name, other, filter)
			}
		}
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"replicas", int64(c.Replicas)},
		{"retention.age", int64(c.MaxAge)},
		{"retention.size", c.MaxBytes},
		{"retention.messages", c.MaxRecords},
		{"retention.per_tag", c.MaxPerTag},
		{"idempotency.window", int64(c.DuplicateWindow)},
	} {
		if bound.value < 0 {
			return fmt.Errorf("engine: stream %q: %s is negative: %d", c.Name, bound.name, bound.value)
		}
	}
	return nil
}

// CheckTag returns an error if a stream with that Config cannot store records with a tag.
func (c Config) CheckTag(tag string) error {
	if err := topic.CheckTag(tag); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.Tags, func(filter string) bool { return topic.Match(filter, tag) }) {
		return fmt.Errorf("tag %q matches none of the tags of the stream: %s", tag, strings.Join(c.Tags, ", "))
	}
	return nil
}

// CheckBeside returns an error if a tag would be stored by a stream with that Config and by one of another name.
func (c Config) CheckBeside(other Config) error {
	if other.Name == c.Name {
		return nil
	}
	for _, theirs := range other.Tags {
		for _, ours := range c.Tags {
			if topic.Overlap(theirs, ours) {
				return fmt.Errorf("streams %q and %q would both store tags that match %q and %q: change the tags of one", other.Name, c.Name, theirs, ours)
			}
		}
	}
	return nil
}

// CheckNamed is Check for a cursor that needs a name.
func (c CursorConfig) CheckNamed() error {
	if err := CheckName("cursor", c.Name); err != nil {
		return err
	}
	return c.Check()
}

// CheckKept returns a *ConflictError if a named cursor exists with another filter or predicate than c has.
func (c CursorConfig) CheckKept(filter, where string) error {
	if c.Filter != filter || c.Where != where {
		return &ConflictError{c.Name, filter, where, c}
	}
	return nil
}

// Check returns an error if no engine can open a cursor with that CursorConfig.
func (c CursorConfig) Check() error {
	if c.Name != "" {
		if err := CheckName("cursor", c.Name); err != nil {
			return err
		}
	}
	if c.Filter != "" {
		if err := topic.CheckFilter(c.Filter); err != nil {
			return fmt.Errorf("engine: cursor %q: %w", c.Name, err)
		}
	}
	return nil
}
