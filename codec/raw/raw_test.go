package raw_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/ferry/codec/codectest"
	"example.com/ferry/codec/raw"
)

func TestContract(t *testing.T) {
	codectest.Run(t, raw.Codec{}, []byte("as it is"), []byte{0})
}

func TestOnlyBytes(t *testing.T) {
	if _, err := (raw.Codec{}).Marshal("text"); err == nil || !strings.Contains(err.Error(), "string") {
		t.Errorf("Marshal of a string = %v, want an error that names its type", err)
	}
	if err := (raw.Codec{}).Unmarshal([]byte{1}, new(string)); err == nil || !strings.Contains(err.Error(), "*string") {
		t.Errorf("Unmarshal into a string = %v, want an error that names its type", err)
	}
}

func TestPointer(t *testing.T) {
	data := []byte("as it is")
	if got, err := (raw.Codec{}).Append([]byte("x"), &data); err != nil || string(got) != "xas it is" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := (raw.Codec{}).Append([]byte("x"), (*[]byte)(nil)); err == nil || string(got) != "x" {
		t.Errorf("got %q, %v, want an error", got, err)
	}
}

func TestCheckType(t *testing.T) {
	for _, ok := range []reflect.Type{reflect.TypeFor[[]byte](), reflect.TypeFor[*[]byte]()} {
		if err := (raw.Codec{}).CheckType(ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[**[]byte](), reflect.TypeFor[any]()} {
		if err := (raw.Codec{}).CheckType(bad); err == nil || !strings.Contains(err.Error(), bad.String()) {
			t.Errorf("%v: got %v, want an error that names it", bad, err)
		}
	}
}

func Example() {
	var payload []byte
	err := raw.Codec{}.Unmarshal([]byte("as it is"), &payload)
	fmt.Printf("%s %v\n", payload, err)
	// Output: as it is <nil>
}
