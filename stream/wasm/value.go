package wasm

import (
	"math"

	"example.com/ferry/field"
)

// valueOf returns a scalar as lookup writes it.
func valueOf(v *field.Value) (kind int, bits uint64, content []byte) {
	switch v.Kind {
	case field.Bool:
		if v.Bool {
			bits = 1
		}
	case field.Int:
		if v.Unsigned {
			return kindUnsigned, uint64(v.Int), nil
		}
		bits = uint64(v.Int)
	case field.Float:
		bits = math.Float64bits(v.Float)
	default:
		content = v.Bytes
	}
	return int(v.Kind), bits, content
}
