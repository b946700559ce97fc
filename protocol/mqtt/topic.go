package mqtt

import (
	"encoding/binary"
	"strings"
)

// SharePrefix begins the filter of a shared subscription: $share/GROUP/FILTER. Section 4.8.2.
const SharePrefix = "$share/"

// CheckTopic returns an *Error if t cannot be the topic of a message: it is empty, is not an UTF-8 string of MQTT, or contains
// a wildcard. Section 4.7.
func CheckTopic[T string | []byte](t T) error {
	if e := checkTopic(t); e != nil {
		return e
	}
	return nil
}

func checkTopic[T string | []byte](t T) *Error {
	if len(t) == 0 {
		return &Error{Code: TopicNameInvalid, Reason: "the topic is empty"}
	}
	if e := checkText(t); e != nil {
		return e
	}
	for i := 0; i < len(t); i++ {
		if t[i] == '+' || t[i] == '#' {
			return &Error{Code: TopicNameInvalid, Reason: "the topic contains a wildcard: wildcards are for subscriptions"}
		}
	}
	return nil
}

// plain reports whether b is ASCII without NUL and wildcards. A topic usually is; then checkTopic need not look at it.
func plain(b []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		w := (x | 8*ones) ^ '+'*ones // + and # differ in the bit 8: a byte of w is 0 for both
		if (x|((x-ones)&^x)|((w-ones)&^w))&tops != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c == 0 || c == '+' || c == '#' || c >= 0x80 {
			return false
		}
	}
	return true
}

// SharedFilter is a topic filter without the prefix of a shared subscription.
type SharedFilter struct {
	Group  string // name of the group; "" means that the subscription is not shared
	Filter string
}

// ParseFilter returns the parts of a topic filter. It returns an *Error with TopicFilterInvalid if s cannot be one: + and # must
// stand alone between slashes, and # must be the last level. Sections 4.7 and 4.8.2.
func ParseFilter(s string) (SharedFilter, error) {
	f := SharedFilter{Filter: s}
	if e := checkText(s); e != nil {
		return f, filterError(e.Reason)
	}
	if rest, shared := strings.CutPrefix(s, SharePrefix); shared {
		var ok bool
		f.Group, f.Filter, ok = strings.Cut(rest, "/")
		if !ok || f.Group == "" || strings.ContainsAny(f.Group, "+#") {
			return f, filterError("a shared subscription is $share/GROUP/FILTER, with a group of at least one character and without wildcards")
		}
	}
	if f.Filter == "" {
		return f, filterError("the filter is empty")
	}
	for rest, more := f.Filter, true; more; {
		var level string
		level, rest, more = strings.Cut(rest, "/")
		switch {
		case level == "#" && more:
			return f, filterError("# must be the last level")
		case len(level) > 1 && strings.ContainsAny(level, "+#"):
			return f, filterError("a wildcard must be a level of its own")
		}
	}
	return f, nil
}

func filterError(reason string) *Error { return &Error{Code: TopicFilterInvalid, Reason: reason} }
