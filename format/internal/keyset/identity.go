package keyset

// Class tells identities apart that have the same content.
type Class uint8

const (
	Integer  Class = iota // N
	Negative              // -1-N
	Text                  // Content
	Bytes                 // Content
	Other                 // N
)

// Identity is what makes two keys equal to some consumer. An integer and a text of the same digits are, as there are
// languages that do not tell them apart.
type Identity struct {
	Class   Class
	N       uint64
	Content []byte
}

// Equal reports whether two keys are equal, with fold also if they differ in ASCII case only.
func (id Identity) Equal(other Identity, fold bool) bool {
	if id.Class != other.Class || id.N != other.N {
		return false
	}
	if fold && id.Class == Text {
		return EqualFold(id.Content, other.Content)
	}
	return string(id.Content) == string(other.Content)
}

// Hash returns a hash that equal identities share.
func (id Identity) Hash(fold bool) uint64 {
	if id.Class == Text || id.Class == Bytes {
		h, _ := Hash(id.Content, fold)
		return h
	}
	return Int(id.N, id.Class == Negative)
}
