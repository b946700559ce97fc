package format

import (
	"errors"

	"example.com/ferry/field"
)

// Incremental is a Format that searches a message which arrives in pieces. It finds a field as soon as the bytes up to
// its end have arrived: often the first kilobyte of 12 MB is enough.
type Incremental interface {
	Format

	// NewSearch starts the search for the value at p. It never fails: a path that cannot exist gives Absent.
	NewSearch(p field.Path, o SearchOptions) Search
}

// Search is the search for one field. Like Lookup it validates only the bytes that it needs, and takes the first of
// duplicate keys. Its memory is bounded by the path and the SearchOptions, whatever lengths the message claims: skipped
// bytes are neither kept nor copied. It allocates nothing once its buffers have grown. It is not safe for use by
// several goroutines.
type Search interface {
	// Feed searches the next piece of the message, of any length, and does not keep it. It returns Found once the last
	// byte of a scalar or the head of a container has arrived, and Absent once the container that could hold the value
	// has ended. After a result or an error it ignores further pieces and returns the same again. Malformed data gives
	// a *SyntaxError whose Offset counts from the message's first byte.
	Feed(piece []byte) (SearchResult, error)

	// End marks the end of the message and returns the final result. A number, for example, may be Found only now, as
	// more digits could have followed. An incomplete message gives io.ErrUnexpectedEOF.
	End() (SearchResult, error)

	// Span returns where the value lies, in bytes from the message's first one; before Found it is the zero Span. End
	// is -1 if the bytes so far do not show it: for a container without a length in its head, and for such a text
	// longer than MaxValue. An End taken from a length may lie behind the message's real end.
	Span() field.Span

	// Value decodes the scalar that was found, as Format's Value does. Text and Bytes are valid until Reset. A scalar
	// longer than MaxValue gives ErrTooLong, a container a *TypeError, and a value not found yet field.ErrNotFound.
	Value(as field.Type) (field.Value, error)

	// Reset prepares the Search for another message.
	Reset()
}

// SearchResult is the state of a Search.
type SearchResult uint8

const (
	More   SearchResult = iota // undecided: more of the message is needed
	Found                      // the value has arrived
	Absent                     // the message does not hold the value, whatever follows
)

var searchResultNames = [...]string{"more", "found", "absent"}

// String returns the result in one word.
func (a SearchResult) String() string {
	if int(a) < len(searchResultNames) {
		return searchResultNames[a]
	}
	return "unknown"
}

// ErrTooLong is returned by Search.Value for a value that was found but not kept.
var ErrTooLong = errors.New("format: the value is longer than MaxValue: take its bytes from the message, by its span")

// SearchOptions bounds the memory of a Search. The zero value is safe for untrusted messages.
type SearchOptions struct {
	MaxValue int // bytes of a scalar that are kept, in some formats with its head; 0 means 64 KiB
	MaxDepth int // nesting of containers that are skipped item by item; 0 means 32
}

// Value returns MaxValue or its default.
func (o SearchOptions) Value() int {
	if o.MaxValue > 0 {
		return o.MaxValue
	}
	return 64 << 10
}

// Depth returns MaxDepth or its default.
func (o SearchOptions) Depth() int { return Options{MaxDepth: o.MaxDepth}.Depth() }
