package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"example.com/ferry/field"
)

// parseValue parses text as a value of the kind that it replaces, or of the type of --as.
func parseValue(text string, kind field.Kind, as field.Type) (field.Value, error) {
	switch as {
	case field.AnyType:
	case field.Int32, field.Int64, field.Uint32, field.Uint64:
		kind = field.Int
	case field.Float32, field.Float64:
		kind = field.Float
	case field.String:
		kind = field.Text
	case field.Boolean:
		kind = field.Bool
	case field.ByteString:
		kind = field.Bytes
	}
	switch kind {
	case field.Null:
		if text != "null" {
			return field.Value{}, fmt.Errorf("there is null, which has no type that %q could take: say it with --as", text)
		}
		return field.Value{Kind: field.Null}, nil
	case field.Bool:
		if text != "true" && text != "false" {
			return field.Value{}, fmt.Errorf("%q is not true or false, which is what it would replace", text)
		}
		return field.Value{Kind: field.Bool, Bool: text == "true"}, nil
	case field.Int, field.Float:
		return parseNumber(text, kind, as)
	case field.Text:
		return field.Value{Kind: field.Text, Bytes: []byte(text)}, nil
	case field.Bytes, field.Untyped:
		raw, err := hex.DecodeString(text)
		if err != nil {
			return field.Value{}, fmt.Errorf("%q is not hex, which is how bytes are given%s", text, castHint(kind))
		}
		return field.Value{Kind: kind, Bytes: raw}, nil
	}
	return field.Value{}, fmt.Errorf("there is a %v: name one value within it", kind)
}

func castHint(k field.Kind) string {
	if k == field.Untyped {
		return "; say what it is with --as"
	}
	return ""
}

// parseNumber reads an integer exactly. A fraction in place of an integer is left to the format, as some formats have one
// kind of number.
func parseNumber(text string, kind field.Kind, as field.Type) (field.Value, error) {
	bits := 64
	if as == field.Int32 || as == field.Uint32 || as == field.Float32 {
		bits = 32
	}
	if kind == field.Int {
		if as != field.Uint32 && as != field.Uint64 {
			if n, err := strconv.ParseInt(text, 10, bits); err == nil {
				return field.Value{Kind: field.Int, Int: n}, nil
			}
		}
		if as == field.AnyType || as == field.Uint32 || as == field.Uint64 {
			if n, err := strconv.ParseUint(text, 10, bits); err == nil {
				return field.Value{Kind: field.Int, Int: int64(n), Unsigned: n > 1<<63-1}, nil
			}
		}
		if as != field.AnyType {
			return field.Value{}, fmt.Errorf("%q is no %v", text, as)
		}
	}
	f, err := strconv.ParseFloat(text, bits)
	if errors.Is(err, strconv.ErrRange) {
		return field.Value{}, fmt.Errorf("%s exceeds the range of a float%d", text, bits)
	}
	if err != nil {
		return field.Value{}, fmt.Errorf("%q is not a number, which is what it would replace", text)
	}
	return field.Value{Kind: field.Float, Float: f}, nil
}
