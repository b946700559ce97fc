package config

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// flow decodes a value that stands on one line, and returns the text behind it without spaces at its start. within says that the value is in a
// list or mapping on one line.
func (r *plainReader) flow(p *plan, to reflect.Value, text string, within bool) (rest string) {
	switch {
	case text == "":
		refuse()
	case p.kind == reflect.Pointer:
		made := reflect.New(p.elem.typ)
		rest = r.flow(p.elem, made.Elem(), text, within)
		to.Set(made)
		return rest
	case p.kind == reflect.Struct && text[0] == '{':
		seen := uint64(0)
		for n := 0; ; n++ {
			var ended bool
			if text, ended = item(text, n, '}'); ended {
				break
			}
			f, behind := r.field(p, text, &seen)
			text = r.flow(f.plan, to.FieldByIndex(f.index), behind, true)
		}
		if p.required&^seen != 0 {
			refuse()
		}
		return text
	case p.kind == reflect.Slice && text[0] == '[':
		made := reflect.MakeSlice(p.typ, 0, 0)
		made, to = reflect.New(p.typ).Elem(), set(to, made)
		for n := 0; ; n++ {
			var ended bool
			if text, ended = item(text, n, ']'); ended {
				break
			}
			made.Grow(1)
			made.SetLen(n + 1)
			text = r.flow(p.elem, made.Index(n), text, true)
		}
		if made.Len() > 0 {
			to.Set(made)
		}
		return text
	case text[0] == '"' || text[0] == '\'':
		end := strings.IndexByte(text[1:], text[0]) + 1
		if end == 0 || strings.HasPrefix(text[end+1:], "'") {
			refuse()
		}
		setText(p, to, text[1:end], true)
		return strings.TrimLeft(text[end+1:], " ")
	}
	word := text
	if within {
		if end := strings.IndexAny(text, ",[]{}"); end >= 0 {
			word = text[:end]
		}
	}
	setText(p, to, strings.TrimRight(word, " "), false)
	return text[len(word):]
}

// set sets to to a value, and returns to.
func set(to, value reflect.Value) reflect.Value {
	to.Set(value)
	return to
}

// item returns a text from its item n on: a text that begins with the bracket of a list or mapping, for item 0, or behind an item. At the
// end, it returns the text behind the closing bracket.
func item(text string, n int, closing byte) (rest string, ended bool) {
	if text == "" {
		refuse()
	}
	first := text[0]
	rest = strings.TrimLeft(text[1:], " ")
	switch {
	case n > 0 && first == closing:
		return rest, true
	case n > 0 && first != ',', rest == "":
		refuse()
	case rest[0] == closing:
		if n > 0 {
			refuse()
		}
		return strings.TrimLeft(rest[1:], " "), true
	}
	return rest, false
}

// setText sets a scalar.
func setText(p *plan, to reflect.Value, text string, quoted bool) {
	if quoted && p.kind != reflect.String && p.typ != reflect.TypeFor[time.Duration]() {
		refuse()
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\\' {
			refuse()
		}
	}
	switch {
	case p.typ == reflect.TypeFor[time.Duration]():
		to.SetInt(int64(plainDuration(text)))
	case p.typ == reflect.TypeFor[Size]():
		if !quoted {
			refuseUnless(setSize(to, text))
		}
	case p.kind == reflect.String:
		refuseUnless((quoted || isPlainText(text)) && (p.enum == nil || p.enum[text]))
		to.SetString(strings.Clone(text)) // not the whole file
	case p.kind == reflect.Bool:
		refuseUnless(text == "true" || text == "false")
		to.SetBool(text == "true")
	case p.kind == reflect.Int || p.kind == reflect.Int64:
		n, ok := plainInteger(text)
		refuseUnless(ok && !to.OverflowInt(n) && (p.least == nil || float64(n) >= *p.least))
		to.SetInt(n)
	case p.kind == reflect.Float64:
		n, ok := plainInteger(text)
		refuseUnless(ok && (p.least == nil || float64(n) >= *p.least))
		to.SetFloat(float64(n))
	default:
		refuse()
	}
}

func refuseUnless(ok bool) {
	if !ok {
		refuse()
	}
}

// plainInteger parses a decimal number without a sign.
func plainInteger(text string) (n int64, ok bool) {
	if text == "" || len(text) > 15 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// plainDuration parses a number with one unit.
func plainDuration(text string) time.Duration {
	number := strings.TrimRight(text, "msh")
	unit := text[len(number):]
	_, ok := plainInteger(number)
	refuseUnless(ok && len(number) <= 6 && (unit == "ms" || unit == "s" || unit == "m" || unit == "h"))
	d, err := time.ParseDuration(text)
	refuseUnless(err == nil)
	return d
}

// setSize sets a Size of a number with a unit.
func setSize(to reflect.Value, text string) bool {
	number := strings.TrimRight(text, "KMGiB")
	_, ok := plainInteger(number)
	size, isSize := to.Addr().Interface().(*Size)
	return ok && isSize && len(number) < len(text) && size.UnmarshalText([]byte(text)) == nil
}

// isPlainText reports whether a text without quotes is a text in every reading of YAML, and not a number, a boolean, a date, or null.
func isPlainText(text string) bool {
	if text == "" || text[len(text)-1] == ':' || strings.Contains(text, ": ") || strings.ContainsAny(text, "#\"'{}[]`&*!|>%") || strings.Contains(text, "  ") {
		return false
	}
	switch first := text[0]; {
	case 'a' <= first && first <= 'z' || 'A' <= first && first <= 'Z':
		switch strings.ToLower(text) {
		case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan":
			return false
		}
		return true
	case first == '/':
		return true
	case '0' <= first && first <= '9':
		return strings.Count(text, ".") == 3 && strings.Count(text, ":") == 1 // an address
	}
	return false
}
