package format

import (
	"fmt"

	"example.com/ferry"
	"example.com/ferry/field"
)

// Descriptor holds the constant properties of a format. A program reads them instead of comparing names.
type Descriptor struct {
	// Type is the payload's type on the native wire. A format from outside this module takes a number from
	// ferry.FirstPrivateType to 255.
	Type ferry.Type

	// Numbered is set if messages carry numbers in place of names and types. A reader needs a schema for names, and must
	// give Value a type.
	Numbered bool

	// SampleKey is a key as a path writes it, "0x10" or "1". Error messages of Numbered formats show it.
	SampleKey string

	// Detection says whether bytes of unknown origin may be taken for this format if they are valid in it.
	Detection Detection
}

// Detection ranks a format among those that may have written bytes of unknown origin.
type Detection uint8

const (
	DetectNever  Detection = iota // nearly any bytes are valid: the user must name the format
	DetectFirst                   // few bytes are valid by chance
	DetectSecond                  // many short inputs are valid by chance: tried if no DetectFirst format is valid
)

// Encoder is a Format that messages of other formats can be converted to.
type Encoder interface {
	// NewBuilder returns a Builder for one message.
	NewBuilder() Builder
}

// Builder writes one message, value by value, in the order of Walk. The outermost value comes first; its step is ignored.
// After an error the message is unusable.
type Builder interface {
	// Begin opens a Map or List. The values up to the End that belongs to it are its content.
	Begin(step field.Step, kind field.Kind) error

	// End closes what the last open Begin began.
	End() error

	// Scalar writes a value that is neither Map nor List. It does not keep v.Bytes.
	Scalar(step field.Step, v field.Value) error

	// Message returns the encoded message once each Begin has had its End.
	Message() ([]byte, error)
}

// ByType holds formats by payload type; nil where there is none.
type ByType [256]Format

// NewByType indexes formats. It refuses two of one name or one type, and a type that is neither defined by ferry nor
// private.
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
