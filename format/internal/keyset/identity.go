package keyset

// Class is the kind of a key. Keys of different classes are different, even if their numbers or contents are equal.
type Class uint8

const (
	Integer  Class = iota // the integer N
	Negative              // the integer -1-N
	Text                  // the text Content
	Bytes                 // the byte string Content
	Other                 // any other key; the format chooses N
)

// Identity is a key in a form that can be compared. Two keys have equal identities if at least one consumer treats them
// as equal. An integer and a text with the same digits are equal, because some languages do not distinguish them.
type Identity struct {
	Class   Class
	N       uint64
	Content []byte
}

// Equal reports whether two keys are equal. With fold, texts that differ only in ASCII case are equal too.
func (id Identity) Equal(other Identity, fold bool) bool {
	if id.Class != other.Class || id.N != other.N {
		return false
	}
	if fold && id.Class == Text {
		return EqualFold(id.Content, other.Content)
	}
	return string(id.Content) == string(other.Content)
}

// Hash returns a hash of the identity. Equal identities have equal hashes.
func (id Identity) Hash(fold bool) uint64 {
	if id.Class == Text || id.Class == Bytes {
		h, _ := Hash(id.Content, fold)
		return h
	}
	return Int(id.N, id.Class == Negative)
}
