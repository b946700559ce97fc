package codec

import "reflect"

// Codec converts between Go values and bytes. Implementations are values, and many goroutines may use one at the same
// time. No method panics, whatever v and data are.
//
// A codec may also implement Appender and Checker. Callers find out by a type assertion.
type Codec interface {
	// Name is the codec's name on the command line: json, cbor, y3, raw.
	Name() string

	// Marshal returns the encoding of v. If the codec cannot encode v, the error names the Go type. A time.Time is such
	// an error if its year is before 0 or after 9999, in its own zone or in UTC, because RFC 3339 cannot write the year.
	Marshal(v any) ([]byte, error)

	// Unmarshal decodes data into the variable that v points to. v must be a non-nil pointer. The variable does not refer
	// to data, so data may be reused when Unmarshal returns. After an error the content of the variable is undefined.
	// Data that ends early is an error. A value that the variable's type cannot hold is an error, too. Only fields that
	// the type does not have are discarded silently.
	Unmarshal(data []byte, v any) error
}

// Appender is a Codec that encodes into memory of its caller.
type Appender interface {
	// Append appends the encoding of v to dst and returns the extended slice. On an error it returns dst unchanged.
	Append(dst []byte, v any) ([]byte, error)
}

// Checker is a Codec that knows from a type whether it can encode and decode its values, so that a program learns about a mismatch
// when it starts.
type Checker interface {
	// CheckType returns an error if the codec cannot carry values of the type t, for instance because the codec needs generated
	// methods that t does not have. The error names t and says what to do. t is the type of the value passed to Marshal and
	// Unmarshal, usually a pointer. Values within an interface are not known before they are encoded.
	CheckType(t reflect.Type) error
}

// CheckType returns c's error for t. A codec that is no Checker can carry every type.
func CheckType(c Codec, t reflect.Type) error {
	if k, ok := c.(Checker); ok {
		return k.CheckType(t)
	}
	return nil
}

// Append appends the encoding of v to dst and returns the extended slice. If c is an Appender, there is no intermediate
// copy.
func Append(c Codec, dst []byte, v any) ([]byte, error) {
	if a, ok := c.(Appender); ok {
		return a.Append(dst, v)
	}
	data, err := c.Marshal(v)
	if err != nil {
		return dst, err
	}
	return append(dst, data...), nil
}
