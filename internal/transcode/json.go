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

// jsonWriter writes RFC 8259 text without white space.
type jsonWriter struct {
	dst   []byte
	stack []jsonContainer
	hex   bool // bytes as hex, else as base64
	notes *Notes
}

type jsonContainer struct {
	list  bool
	items int
}

func (w *jsonWriter) message() ([]byte, error) { return w.dst, nil }

func (w *jsonWriter) open(at place, kind field.Kind) error {
	w.lead(at)
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

// lead writes what stands before a value: a comma, and its key in a map.
func (w *jsonWriter) lead(at place) {
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

func (w *jsonWriter) scalar(at place, v value) error {
	w.lead(at)
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
		return w.float(v.Float, at.is)
	case v.Kind == field.Text:
		w.dst = appendQuoted(w.dst, string(v.Bytes))
	case w.hex || v.Kind == field.Untyped:
		w.dst = append(hex.AppendEncode(append(w.dst, '"'), v.Bytes), '"')
	default:
		if at.is == nil {
			w.notes.add("bytes became base64 text")
		}
		w.dst = append(base64.StdEncoding.AppendEncode(append(w.dst, '"'), v.Bytes), '"')
	}
	return nil
}

// float writes the shortest digits that read back as f, and so that they read back as a float: 1.0, not 1. Where the
// schema says that it is a float32, so will whoever reads it back.
func (w *jsonWriter) float(f float64, is *schema.Field) error {
	bits := 64
	if is != nil && is.Type == schema.Float32 {
		bits = 32
	}
	switch a := math.Abs(f); {
	case f != f || a > math.MaxFloat64:
		if is == nil {
			return errors.New("transcode: json has no number for " + strconv.FormatFloat(f, 'g', -1, 64))
		}
		w.dst = appendQuoted(w.dst, specialName(f))
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

// appendQuoted writes s as a JSON string. All control characters are escaped, also those that JSON would let pass, so
// that a message printed on a terminal stays text.
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
