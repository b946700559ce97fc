package codec

// Codec turns Go values into bytes and back. Implementations are values safe for use by many goroutines, and none of
// their methods panics, whatever v and data are.
//
// Extra powers, found by assertion: Appender.
type Codec interface {
	// Name is the type's name on the command line: json, cbor, y3, raw.
	Name() string

	// Marshal returns the encoding of v. A value the codec cannot write is an error that names its Go type. So is a
	// time.Time whose year is before 0 or after 9999, in its zone or in UTC: RFC 3339 cannot write it.
	Marshal(v any) ([]byte, error)

	// Unmarshal decodes data into the variable that v, a non-nil pointer, points to. It copies what it needs, so data may
	// be reused as soon as it returns. After an error the variable is undefined. Data that ends early is an error, and so is
	// a value that the variable's type cannot hold. Only fields that the type does not have are discarded silently.
	Unmarshal(data []byte, v any) error
}

// Appender is a Codec that writes into memory of its caller.
type Appender interface {
	// Append writes the encoding of v behind dst and returns the extended slice; on an error it returns dst as it was.
	Append(dst []byte, v any) ([]byte, error)
}

// Append writes the encoding of v behind dst, without an intermediate copy if c is an Appender.
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
