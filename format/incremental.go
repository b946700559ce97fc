package format

import (
	"errors"

	"example.com/ferry/field"
)

// Incremental is a Format that can search a message while the message arrives in pieces. A field is found as soon as
// its last byte has arrived. Often the first kilobyte of 12 MB is enough.
type Incremental interface {
	Format

	// NewSearch starts the search for the value at p. It never fails: for an impossible path the search returns Absent.
	NewSearch(p field.Path, o SearchOptions) Search
}

// Search is the search for one field. Like Lookup, it validates only the bytes that it reads and uses the first of
// duplicate keys. The path and the SearchOptions bound its memory, even if the message claims huge lengths: skipped
// bytes are never stored. A Search allocates nothing once its buffers have grown. It is not safe for use by several
// goroutines.
type Search interface {
	// Feed searches the next piece of the message. A piece may have any length and is not retained. Feed returns Found
	// once the last byte of a scalar or the head of a container has arrived. It returns Absent once the container that
	// could hold the value has ended. After a result or an error, later calls ignore the piece and return the same
	// result or error. Malformed data gives a *SyntaxError. Its Offset counts from the message's first byte.
	Feed(piece []byte) (SearchResult, error)

	// End marks the end of the message and returns the final result. Some values are Found only now: a number, for
	// example, could have had more digits. An incomplete message gives io.ErrUnexpectedEOF.
	End() (SearchResult, error)

	// Span returns where the value lies, in bytes from the message's first byte. Before the result is Found, it returns
	// the zero Span. End is -1 while the end is not known: for a container whose head has no length, and for a text
	// longer than MaxValue whose head has no length. If End was computed from a length in the message, it may exceed
	// the message's real size.
	Span() field.Span

	// Value decodes the scalar that was found, as Value of Format does. Text and Bytes are valid until Reset. A scalar
	// longer than MaxValue gives ErrTooLong. A container gives a *TypeError. A value that is not found yet gives
	// field.ErrNotFound.
	Value(want field.Type) (field.Value, error)

	// Reset prepares the Search for another message.
	Reset()
}

// SearchResult is the state of a Search.
type SearchResult uint8

const (
	More   SearchResult = iota // not decided yet: the search needs more of the message
	Found                      // the value was found
	Absent                     // the message does not contain the value, whatever the next bytes are
)

var searchResultNames = [...]string{"more", "found", "absent"}

// String returns "more", "found" or "absent".
func (a SearchResult) String() string {
	if int(a) < len(searchResultNames) {
		return searchResultNames[a]
	}
	return "unknown"
}

// ErrTooLong means that Search.Value was called for a scalar longer than MaxValue, whose bytes were not stored.
var ErrTooLong = errors.New("format: the value is longer than MaxValue: take its bytes from the message, by its span")

// SearchOptions bounds the memory of a Search. The zero value is safe for untrusted messages.
type SearchOptions struct {
	MaxValue int // maximum number of bytes stored for a scalar, in some formats including its head; 0 means 64 KiB
	MaxDepth int // maximum nesting of containers that are skipped item by item; 0 means 32
}

// Value returns MaxValue, or 64 KiB if MaxValue is not set.
func (o SearchOptions) Value() int {
	if o.MaxValue > 0 {
		return o.MaxValue
	}
	return 64 << 10
}

// Depth returns MaxDepth, or 32 if MaxDepth is not set.
func (o SearchOptions) Depth() int { return Options{MaxDepth: o.MaxDepth}.Depth() }
