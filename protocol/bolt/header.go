package bolt

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// Keys of SOFARPC's header map. Plain SOFABolt names what it calls by the class of the request.
const (
	Service       = "service"                  // interface and version: com.example.Echo:1.0
	TargetService = "sofa_head_target_service" // the same, as SOFARPC writes it for the server
	Method        = "sofa_head_method_name"    // the method of the service
)

// Header is a header map as it is encoded: key length 4, key, value length 4, value, and so on to its end, without a
// count. A length of -1 stands for a null, and a pair with a null in it is as good as not there. SimpleMapSerializer.
type Header []byte

// Lookup returns the value of key, a view, and whether it is there. It reads to the end of the map, as only then the
// answer is certain: a damaged map, or one in which key stands twice (Java takes the last one of those, MOSN the first),
// gives *SyntaxError.
func (h Header) Lookup(key string) (value []byte, ok bool, err error) {
	found := false
	for at := 0; at < len(h); {
		k, v, end, err := h.pair(at)
		if err != nil {
			return nil, false, err
		}
		if k != nil && string(k) == key {
			if found {
				return nil, false, &SyntaxError{at, "header map", fmt.Sprintf("the key %q for the second time: each may stand there once", key)}
			}
			found = true
			value = v
		}
		at = end
	}
	return value, value != nil, nil
}

// Pair is a key and its value: views.
type Pair struct{ Key, Value []byte }

// All returns the pairs in the order they stand in, without those that hold a null. A damaged map ends it with
// *SyntaxError. It does not look for keys that stand twice.
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

// pair reads the pair at offset at, and returns where the next one begins. A null is nil.
func (h Header) pair(at int) (key, value []byte, end int, err error) {
	if key, end, err = h.text(at); err != nil {
		return nil, nil, 0, err
	}
	value, end, err = h.text(end)
	return key, value, end, err
}

func (h Header) text(at int) (text []byte, end int, err error) {
	if start := at + 4; start <= len(h) {
		n := int(int32(binary.BigEndian.Uint32(h[at:])))
		if n >= 0 && n <= len(h)-start {
			return h[start : start+n : start+n], start + n, nil
		}
		if n == -1 {
			return nil, start, nil
		}
	}
	return nil, 0, h.damaged(at)
}

// damaged says why there is no text at offset at.
func (h Header) damaged(at int) error {
	left := len(h) - at
	if left < 4 {
		return &SyntaxError{at, "header map", fmt.Sprintf("%d bytes where a length of 4 is expected", left)}
	}
	return &SyntaxError{at, "header map", fmt.Sprintf("length %d exceeds the %d bytes left", int32(binary.BigEndian.Uint32(h[at:])), left-4)}
}

// AppendPair appends a pair to an encoded header map. That no key stands twice is up to the caller.
func AppendPair(dst Header, key, value string) Header {
	for _, s := range [...]string{key, value} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
		dst = append(dst, s...)
	}
	return dst
}
