package exchange

import "bytes"

// KeptFields are copied fields, such as trailers that have to wait. Of a nil one, only Fields may be called: it returns nil.
type KeptFields struct{ names, values [][]byte }

var _ Fields = (*KeptFields)(nil)

// KeepFields copies fields, which may be nil.
func KeepFields(from Fields) *KeptFields {
	if from == nil {
		return nil
	}
	k := &KeptFields{}
	for name, value := range from.All {
		k.Add(name, value)
	}
	return k
}

// Add copies a field.
func (k *KeptFields) Add(name, value []byte) {
	k.names, k.values = append(k.names, bytes.Clone(name)), append(k.values, bytes.Clone(value))
}

// Fields returns k, or a nil interface if k is nil.
func (k *KeptFields) Fields() Fields {
	if k == nil {
		return nil
	}
	return k
}

// All calls yield for each field.
func (k *KeptFields) All(yield func(name, value []byte) bool) {
	for i, name := range k.names {
		if !yield(name, k.values[i]) {
			return
		}
	}
}

// Get returns the first value of the field called name, or nil.
func (k *KeptFields) Get(name string) []byte {
	for i, each := range k.names {
		if bytes.EqualFold(each, []byte(name)) {
			return k.values[i]
		}
	}
	return nil
}
