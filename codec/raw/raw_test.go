package raw_test

import (
	"fmt"
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

func Example() {
	var payload []byte
	err := raw.Codec{}.Unmarshal([]byte("as it is"), &payload)
	fmt.Printf("%s %v\n", payload, err)
	// Output: as it is <nil>
}
