package main

import (
	"os"
	"strings"
	"testing"
)

// TestReadings runs the program on its readings. One of them is two seconds late.
func TestReadings(t *testing.T) {
	in, err := os.Open("readings.json")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out strings.Builder
	if err := run(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	want := `12:00:00 pump-1: 33.0, 2 values
12:00:00 pump-2: 40.0, 1 values
12:00:10 pump-1: 36.5, 1 values
12:00:10 pump-2: 50.0, 1 values
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
