package bolt

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// Keys of SOFARPC's header map. Plain SOFABolt uses none of these keys: there the class of a request identifies the handler.
const (
	Service       = "service"                  // interface and version of the service: com.example.Echo:1.0
	TargetService = "sofa_head_target_service" // interface and version of the service, under the key that SOFARPC servers use
	Method        = "sofa_head_method_name"    // name of the service's method
)

// Header is an encoded header map: pairs of key length 4, key, value length 4, value. The pairs follow each other up to the
// end; there is no count. A length of -1 means null. Lookup and All skip a pair whose key or value is null. Source:
// SimpleMapSerializer.
type Header []byte

// Lookup returns a view of the value of key, and whether the map has the key. It always reads the whole map. If the map is
// malformed or has the key twice, the error is *SyntaxError. Java uses the last of two equal keys, and MOSN uses the first.
func (h Header) Lookup(key string) (value []byte, ok bool, err error) {
	found := false
	for at := 0; at < len(h); {
		k, v, end, err := h.pair(at)
		if err != nil {
			return nil, false, err
		}
		if k != nil && string(k) == key {
			if found {
				return nil, false, &SyntaxError{at, "header map", fmt.Sprintf("the key %q is there twice", key)}
			}
			found = true
			value = v
		}
		at = end
	}
	return value, value != nil, nil
}

// Pair is a key and its value. Both are views.
type Pair struct{ Key, Value []byte }

// All returns the pairs in order, without pairs whose key or value is null. If the map is malformed, the last element is a
// *SyntaxError. Duplicate keys are not detected.
func (h Header) All() iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for at := 0; at < len(h); {
			key, value, end, err := h.pair(at)
			if err != nil {
				yield(Pair{}, err)
				return
			}
			if key != nil && value != nil && !yield(Pair{key, value}, nil) {
				return
			}
			at = end
		}
	}
}

// pair returns the pair at offset at, and the offset of the next pair. A null key or value is nil.
func (h Header) pair(at int) (key, value []byte, end int, err error) {
	if key, end, err = h.prefixedText(at); err != nil {
		return nil, nil, 0, err
	}
	value, end, err = h.prefixedText(end)
	return key, value, end, err
}

// prefixedText reads a length and a text at offset at. It returns the text and the offset after it.
func (h Header) prefixedText(at int) (text []byte, end int, err error) {
	if start := at + 4; start <= len(h) {
		n := int(int32(binary.BigEndian.Uint32(h[at:])))
		if n >= 0 && n <= len(h)-start {
			return h[start : start+n : start+n], start + n, nil
		}
		if n == -1 {
			return nil, start, nil
		}
	}
	return nil, 0, h.malformed(at)
}

// malformed returns the error for a malformed text at offset at.
func (h Header) malformed(at int) error {
	left := len(h) - at
	if left < 4 {
		return &SyntaxError{at, "header map", fmt.Sprintf("%d bytes where a length of 4 is expected", left)}
	}
	return &SyntaxError{at, "header map", fmt.Sprintf("length %d exceeds the %d bytes left", int32(binary.BigEndian.Uint32(h[at:])), left-4)}
}

// AppendPair appends a pair to an encoded header map. The caller must avoid duplicate keys.
func AppendPair(dst Header, key, value string) Header {
	for _, s := range [...]string{key, value} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
		dst = append(dst, s...)
	}
	return dst
}
