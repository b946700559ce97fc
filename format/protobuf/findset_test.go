package protobuf

import (
	"testing"

	"example.com/ferry/format/formattest"
)

// TestFindLikeLookup compares Find with Lookup where sets and messages have different orders, depths and numbers.
func TestFindLikeLookup(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"in order":     "\x08\x01\x10\x02\x18\x03\x20\x04",
		"out of order": "\x20\x04\x18\x03\x10\x02\x08\x01",
		"repeated":     "\x08\x01\x08\x02\x10\x01\x10\x02",
		"shared bits":  "\x88\x04\x07\x08\x01\x80\x04\x05\x90\x04\x06\x10\x02", // fields 65, 1, 64, 66, 2
		"nested":       "\x3a\x04\x08\x01\x18\x02\x08\x05",
		"group":        "\x13\x08\x01\x14\x08\x05",
		"long":         "\x88\x80\x00\x01\x10\x80\x80\x80\x01\x1a\x82\x80\x00xx\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"cut":          "\x08\x01\x1a\x05x",
		"one byte":     "\x08\x01\x10",
		"empty":        "",
	} {
		for _, texts := range [][]string{
			{"1", "2", "3", "4"},
			{"4", "1"},
			{"7", "7.3"},
			{"7.1", "7.3"},
			{"7.1", "1"},
			{"64", "65"},
			{"1", "65"},
			{"2", "66", "64"},
			{"0", "1"},
			{"1", "name"},
			{"", "1"},
			{""},
			{},
		} {
			formattest.FindLikeLookup(t, Format{}, name, []byte(data), texts)
		}
	}
}
