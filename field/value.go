package field

// Type is the type in which a value is read or written. A format needs a Type where the encoded bytes carry none.
type Type uint8

const (
	AnyType Type = iota // the type that the encoded bytes carry
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	String
	Boolean
	ByteString
)

var typeNames = [...]string{"any", "int32", "uint32", "int64", "uint64", "float32", "float64", "string", "bool", "bytes"}

// String returns the type's name, as the command line writes it.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "unknown"
}

// ParseType returns the Type with the name s. It is the inverse of String.
func ParseType(s string) (Type, bool) {
	for i, n := range typeNames {
		if n == s {
			return Type(i), true
		}
	}
	return AnyType, false
}

// Value is one decoded scalar. Kind tells which other field holds it.
type Value struct {
	Kind     Kind
	Unsigned bool    // an integer is uint64(Int), because it exceeds the largest int64
	Bool     bool    // the value of Kind Bool
	Int      int64   // the value of Kind Int
	Float    float64 // the value of Kind Float

	// Bytes is the value of Kind Text or Bytes: usually a view into the message, valid while the message is unchanged. For
	// Kind Float it is nil, or the number in decimal form if neither an integer nor a float64 is equal to it: Float is then
	// rounded.
	Bytes []byte
}

var kindNames = [...]string{"nothing", "untyped bytes", "null", "bool", "integer", "float", "text", "bytes", "list", "map", "extension"}

// String returns the kind's name for error messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}
