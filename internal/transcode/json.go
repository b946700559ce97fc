package transcode

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"example.com/ferry/field"
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

func (w *jsonWriter) bytes() []byte { return w.dst }

func (w *jsonWriter) open(key field.Step, kind field.Kind) error {
	w.lead(key)
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
func (w *jsonWriter) lead(key field.Step) {
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
	w.dst = append(appendQuoted(w.dst, keyName(key, w.notes)), ':')
}

// keyName is a key as text: itself, a Y3 key in hex, or an integer in decimal.
func keyName(key field.Step, notes *Notes) string {
	if key.Name != "" {
		return key.Name
	}
	if key.Key < 0 && key.Index >= 0 {
		notes.add("integer keys became text")
	}
	return key.String()
}

func (w *jsonWriter) scalar(key field.Step, v value) error {
	w.lead(key)
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
		return w.float(v.Float)
	case v.Kind == field.Text:
		w.dst = appendQuoted(w.dst, string(v.Bytes))
	case w.hex || v.Kind == field.Untyped:
		w.dst = append(hex.AppendEncode(append(w.dst, '"'), v.Bytes), '"')
	default:
		w.notes.add("bytes became base64 text")
		w.dst = append(base64.StdEncoding.AppendEncode(append(w.dst, '"'), v.Bytes), '"')
	}
	return nil
}

// float writes the shortest digits that read back as f, and so that they read back as a float: 1.0, not 1.
func (w *jsonWriter) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("transcode: json has no number for " + strconv.FormatFloat(f, 'g', -1, 64))
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		w.dst = strconv.AppendFloat(w.dst, f, 'e', -1, 64)
		return nil
	}
	w.dst = strconv.AppendFloat(w.dst, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		w.dst = append(w.dst, ".0"...)
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
