package all_test

import (
	"fmt"
	"testing"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/all"
)

// TestNames checks that the name, the payload type and the interfaces of each format agree.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range all.Formats() {
		if typ, err := ferry.ParseType(f.Name()); err != nil || typ.String() != f.Name() || typ != f.Descriptor().Type {
			t.Errorf("%q has type %v, but its descriptor %v: %v", f.Name(), typ, f.Descriptor().Type, err)
		}
		if seen[f.Name()] {
			t.Errorf("%q is listed twice", f.Name())
		}
		seen[f.Name()] = true
		if _, ok := f.(format.Patcher); !ok {
			t.Errorf("%q cannot patch", f.Name())
		}
	}
}

func ExampleFormats() {
	for _, f := range all.Formats() {
		fmt.Println(f.Name())
	}
	// Output:
	// cbor
	// json
	// y3
	// y3n
	// bson
	// msgpack
	// protobuf
}
