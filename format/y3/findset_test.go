package y3

import (
	"errors"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

// TestFindLikeLookup compares Find with Lookup where sets and messages have different orders, shapes and keys.
func TestFindLikeLookup(t *testing.T) {
	t.Parallel()
	long := string(make([]byte, 100))
	for name, data := range map[string]string{
		"fields":       "\x11\x01w\x0a\x01x\x07\x01y\x10\x01z",
		"nodes":        "\x11\x01w\x8a\x06\x0a\x01x\x11\x01y\x87\x03\x09\x01z",
		"one node":     "\x81\x0c\x11\x01w\x0a\x01x\x07\x01y\x10\x01z",
		"long":         "\x81\x81\x6a\x10\x80\x64" + long + "\x11\x80\x64" + long + "\x0a\x01x\x07\x01y",
		"three bytes":  "\x81\x80\x00\x10\x80\x80\x01x\x11\x80\x80\x01y\x07\x80\x00\x0a\x00",
		"repeated":     "\x81\x0c\x11\x01w\x11\x01x\x0a\x01y\x0a\x01z",
		"slice":        "\xc1\x06\x00\x01x\x00\x01y",
		"primitive":    "\x01\x03\x11\x01w",
		"cut":          "\x81\x0c\x11\x01w\x0a\x01",
		"past the end": "\x81\x05\x11\x01w\x0a\x01x",
		"empty":        "",
	} {
		for _, texts := range [][]string{
			{"0x0a.0x0a", "0x11"},
			{"", "0x0a.0x0a", "0x07.0x09", "0x11"},
			{"0x11", "0x0a", "0x07", "0x10"},
			{"0x10", "0x07", "0x0a", "0X0a", "5"},
			{"0x01"},
			{"0x01", "0x01.0x11"},
			{"0x01.0x11", "0x01.0x0a", "0x01.0x07", "0x01.0x10"},
			{"0x01.0x10", "0x01.0x11", "0x01.0x12"},
			{"0x01.0x10", "0x01.0X10", "0x01.0x11.0x12", "0x01.0x11"},
			{"0x01.0", "0x01.1", "0x01.2"},
			{"5", "6"},
			{},
		} {
			formattest.FindLikeLookup(t, Format{}, name, []byte(data), texts)
		}
	}
}

// TestOffsetInData: the error for a packet that exceeds its node has an offset within the data, also if int has 32 bits.
func TestOffsetInData(t *testing.T) {
	t.Parallel()
	for _, node := range []string{
		"\x02\x87\xff\xff\xff\x7f",
		"\x02\x87\xff\xff\xff\x7fxyz",
		"\x02\x80\x80\x50",
		"\x02\x80\x50",
		"\x02\x3f",
	} {
		data := "\x81" + string(rune(len(node))) + node + "\x03\x00"
		_, err := Format{}.Lookup([]byte(data), field.MustParse("0x01.0x11"))
		var syntax *format.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: got %v, want a *format.SyntaxError", data, err)
		} else if syntax.Offset < 0 || syntax.Offset > len(data) {
			t.Errorf("%q: got offset %d, want 0 to %d", data, syntax.Offset, len(data))
		}
	}
}
