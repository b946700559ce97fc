package transcode

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// jsonWriter writes JSON, RFC 8259, without white space.
type jsonWriter struct {
	dst   []byte
	stack []jsonContainer
	hex   bool // write bytes as hex text; otherwise as base64 text
	notes *Notes
}

type jsonContainer struct {
	list  bool
	items int
}

func (w *jsonWriter) message() ([]byte, error) { return w.dst, nil }

func (w *jsonWriter) open(at location, kind field.Kind) error {
	w.appendKey(at)
	w.stack = append(w.stack, jsonContainer{list: kind == field.List})
	if kind == field.List {
		w.dst = append(w.dst, '[')
	} else {
		w.dst = append(w.dst, '{')
	}
	return nil
}

func (w *jsonWriter) close() error {
	top := len(w.stack) - 1
	if w.stack[top].list {
		w.dst = append(w.dst, ']')
	} else {
		w.dst = append(w.dst, '}')
	}
	w.stack = w.stack[:top]
	return nil
}

// appendKey appends the comma before a value and, in a map, the key of the value.
func (w *jsonWriter) appendKey(at location) {
	if len(w.stack) == 0 {
		return
	}
	in := &w.stack[len(w.stack)-1]
	if in.items > 0 {
		w.dst = append(w.dst, ',')
	}
	in.items++
	if in.list {
		return
	}
	w.dst = append(appendQuoted(w.dst, at.name(w.notes)), ':')
}

func (w *jsonWriter) scalar(at location, v value) error {
	w.appendKey(at)
	switch {
	case v.number != "":
		w.dst = append(w.dst, v.number...)
	case v.Kind == field.Null:
		w.dst = append(w.dst, "null"...)
	case v.Kind == field.Bool:
		w.dst = strconv.AppendBool(w.dst, v.Bool)
	case v.Kind == field.Int && v.Unsigned:
		w.dst = strconv.AppendUint(w.dst, uint64(v.Int), 10)
	case v.Kind == field.Int:
		w.dst = strconv.AppendInt(w.dst, v.Int, 10)
	case v.Kind == field.Float:
		return w.writeFloat(v.Float, at.declared)
	case v.Kind == field.Text:
		w.dst = appendQuoted(w.dst, string(v.Bytes))
	case w.hex || v.Kind == field.Untyped:
		w.dst = append(hex.AppendEncode(append(w.dst, '"'), v.Bytes), '"')
	default:
		if at.declared == nil {
			w.notes.add("bytes became base64 text")
		}
		w.dst = append(base64.StdEncoding.AppendEncode(append(w.dst, '"'), v.Bytes), '"')
	}
	return nil
}

// writeFloat writes the shortest digits that restore f, with a point or exponent: 1.0, not 1. If the schema declares a
// float32, the digits need to restore only the float32.
func (w *jsonWriter) writeFloat(f float64, declared *schema.Field) error {
	bits := 64
	if declared != nil && declared.Type == schema.Float32 {
		bits = 32
	}
	switch a := math.Abs(f); {
	case f != f || a > math.MaxFloat64:
		if declared == nil {
			return errors.New("transcode: json has no number for " + strconv.FormatFloat(f, 'g', -1, 64))
		}
		w.dst = appendQuoted(w.dst, specialFloatName(f))
	case a != 0 && (a < 1e-6 || a >= 1e21):
		w.dst = strconv.AppendFloat(w.dst, f, 'e', -1, bits)
	default:
		w.dst = strconv.AppendFloat(w.dst, f, 'f', -1, bits)
		if f == math.Trunc(f) {
			w.dst = append(w.dst, ".0"...)
		}
	}
	return nil
}

// appendQuoted appends s as a JSON string. It escapes all control characters, which is more than JSON requires, so that
// a printed message cannot control a terminal.
func appendQuoted(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			dst = append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
