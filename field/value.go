package field

// Type is the type that a value is read or written as. It is needed where the bytes carry no type.
type Type uint8

const (
	AnyType Type = iota // the type that the bytes carry
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

// String returns the name the command line uses.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "unknown"
}

// ParseType is the inverse of String.
func ParseType(s string) (Type, bool) {
	for i, n := range typeNames {
		if n == s {
			return Type(i), true
		}
	}
	return AnyType, false
}

// Value is one decoded scalar. Kind selects the field that holds it.
type Value struct {
	Kind     Kind
	Unsigned bool    // Int: the value is uint64(Int), above the largest int64
	Bool     bool    // Bool
	Int      int64   // Int
	Float    float64 // Float
	Bytes    []byte  // Text and Bytes: usually a view into the message, valid while the message is unchanged
}

var kindNames = [...]string{"nothing", "untyped bytes", "null", "bool", "integer", "float", "text", "bytes", "list", "map", "extension"}

// String returns the kind's name for error messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}
