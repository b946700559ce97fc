package format

import (
	"fmt"

	"example.com/ferry"
	"example.com/ferry/field"
)

// Descriptor holds the constant properties of a format. Programs depend on these properties, not on the format's name.
type Descriptor struct {
	// Type is the payload's type in ferry's own protocol. A format from outside this module uses a number from
	// ferry.FirstPrivateType to 255.
	Type ferry.Type

	// Numbered means that messages carry numbers instead of names and types. To use names, a reader needs a schema. The
	// caller of Value must pass a type.
	Numbered bool

	// SampleKey is an example of a key in a path, such as "0x10" or "1". Error messages of Numbered formats show it.
	SampleKey string

	// Detection says when the format is tried for bytes of unknown origin. If the bytes are valid in the format, the
	// format is a candidate.
	Detection Detection
}

// Detection is the order in which formats are tried for bytes of unknown origin.
type Detection uint8

const (
	DetectNever  Detection = iota // not tried, because nearly any bytes are valid; the user must name the format
	DetectFirst                   // tried first, because few inputs are valid by chance
	DetectSecond                  // tried after all DetectFirst formats, because many short inputs are valid by chance
)

// Encoder is a Format that can write messages. Messages of other formats can be converted to an Encoder's format.
type Encoder interface {
	// NewBuilder returns a Builder for one message.
	NewBuilder() Builder
}

// Builder writes one message. Values are written one at a time, in the order of Walk. The outermost value is written
// first; its step is ignored. After an error the message is unusable.
type Builder interface {
	// Begin opens a Map or List. All values before the matching End are its content.
	Begin(step field.Step, kind field.Kind) error

	// End closes the innermost open Map or List.
	End() error

	// Scalar writes a value that is neither Map nor List. The Builder does not retain v.Bytes.
	Scalar(step field.Step, v field.Value) error

	// Message returns the encoded message. Before this call, each Begin must have its End.
	Message() ([]byte, error)
}

// ByType maps a payload type to its format, or to nil if there is none.
type ByType [256]Format

// NewByType returns a ByType with these formats. It refuses two formats with the same name or the same type. It also
// refuses a type that is neither defined by ferry nor private.
func NewByType(formats []Format) (*ByType, error) {
	byType := new(ByType)
	names := map[string]bool{}
	for _, f := range formats {
		t := f.Descriptor().Type
		switch {
		case t == ferry.Raw || t > ferry.LastType && t < ferry.FirstPrivateType:
			return nil, fmt.Errorf("format: %s has payload type %d: want one of ferry's, 1 to %d, or a private one, %d to 255",
				f.Name(), uint8(t), uint8(ferry.LastType), uint8(ferry.FirstPrivateType))
		case byType[t] != nil:
			return nil, fmt.Errorf("format: %s and %s both have payload type %d: give one of them another",
				byType[t].Name(), f.Name(), uint8(t))
		case names[f.Name()]:
			return nil, fmt.Errorf("format: two formats are named %s: leave one out", f.Name())
		}
		byType[t], names[f.Name()] = f, true
	}
	return byType, nil
}
