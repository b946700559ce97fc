package format

import (
	"errors"

	"example.com/ferry/field"
)

// Incremental is a Format that finds a field of a message that arrives in pieces, as soon as the bytes up to its end have
// arrived: of a message of 12 MB often the first kilobyte is enough.
type Incremental interface {
	Format

	// NewSearch begins the search for the value at p. It fails for nothing: what cannot be there is Absent.
	NewSearch(p field.Path, o SearchOptions) Search
}

// Search is the search for one field. Like Lookup it validates nothing that it does not need, and of keys that stand
// twice it takes the first one. What it holds is bounded by the path and its SearchOptions, whatever the message claims:
// bytes that it passes over are neither kept nor copied. It is not safe for use by several goroutines, and allocates
// nothing once its buffers have grown.
type Search interface {
	// Feed takes the next piece of the message, of any length, and does not keep it. It searchResultNames Found when the last byte
	// of a scalar has arrived, of a container its head; Absent when the container that should hold the value has ended.
	// Once there is an answer or an error, it stays, and further pieces are not looked at. Malformed data is a
	// *SyntaxError whose Offset counts from the message's first byte.
	Feed(piece []byte) (SearchResult, error)

	// End says that the message has ended. It returns the answer, which only now may be certain: the digits of a number
	// could have gone on. If the message should have gone on, the error is io.ErrUnexpectedEOF.
	End() (SearchResult, error)

	// Span returns where the value that was found lies, in bytes from the message's first one; the zero Span before. End
	// is -1 where the bytes up to now do not tell it: for a container that does not begin with its length, and for a text
	// longer than MaxValue of which the same is true. An End that is told may be a claim that the message does not keep.
	Span() field.Span

	// Value decodes the scalar that was found, as Format's Value does. Text and Bytes are valid until Reset. A scalar
	// longer than MaxValue is ErrTooLong; a container is a *TypeError; while nothing is found it is field.ErrNotFound.
	Value(as field.Type) (field.Value, error)

	// Reset makes the Search ready for another message.
	Reset()
}

// SearchResult is what a Search knows.
type SearchResult uint8

const (
	More   SearchResult = iota // nothing yet: it needs more of the message
	Found                      // the value is there
	Absent                     // the message does not hold the value, whatever follows
)

var searchResultNames = [...]string{"more", "found", "absent"}

// String returns the answer in one word.
func (a SearchResult) String() string {
	if int(a) < len(searchResultNames) {
		return searchResultNames[a]
	}
	return "unknown"
}

// ErrTooLong is what a Search returns for a value that it found and did not keep.
var ErrTooLong = errors.New("format: the value is longer than MaxValue: take its bytes from the message, by its span")

// SearchOptions bounds what a Search holds. The zero value is safe for messages from anybody.
type SearchOptions struct {
	MaxValue int // bytes of a scalar that are kept, in some formats with its head; 0 means 64 KiB
	MaxDepth int // containers within containers that are passed over where only reading them tells their end; 0 means 32
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
