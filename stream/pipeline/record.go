package pipeline

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"

	"example.com/ferry/field"
)

// appendText appends s as a text of JSON. Bytes that are not UTF-8 become U+FFFD. RFC 8259, section 7.
func appendText(dst, s []byte) []byte {
	for _, c := range s {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(string(s)) // a string has no error
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// appendFloat appends f as a number of JSON, or null if JSON has no such number.
func appendFloat(dst []byte, f float64) []byte {
	switch size := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case size != 0 && (size < 1e-6 || size >= 1e21):
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// appendValue appends a scalar in JSON. Bytes become base64 text, as elsewhere when a message is converted.
func appendValue(dst []byte, v *field.Value) []byte {
	switch v.Kind {
	case field.Bool:
		return strconv.AppendBool(dst, v.Bool)
	case field.Int:
		if v.Unsigned {
			return strconv.AppendUint(dst, uint64(v.Int), 10)
		}
		return strconv.AppendInt(dst, v.Int, 10)
	case field.Float:
		if len(v.Bytes) > 0 { // a float64 is not equal to the number
			return append(dst, v.Bytes...)
		}
		return appendFloat(dst, v.Float)
	case field.Text:
		return appendText(dst, v.Bytes)
	case field.Bytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes)
		return append(dst, '"')
	}
	return append(dst, "null"...)
}

// appendName appends the name of a field and a colon, and before it a comma unless the field is the first of its record.
func appendName(dst, name []byte) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(dst, name...)
}

// quotedName returns the first bytes of a field in a record.
func quotedName(name string) []byte {
	return append(appendText(nil, []byte(name)), ':')
}

// hash is FNV-1a, which is the same in each process: sets of hashes are part of saved state.
func hash(data []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range data {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
