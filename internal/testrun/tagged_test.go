package main

import (
	"io"
	"slices"
	"testing"
)

// TestTaggedBatches: the root module has packages with a tag. They are tested with it, or reported as skipped.
func TestTaggedBatches(t *testing.T) {
	none := newTally(io.Discard)
	if got := taggedBatches(none, t.TempDir(), true); len(got)+len(none.skipped) != 0 {
		t.Errorf("a module without the packages: got %v, and %v skipped", got, none.skipped)
	}
	found := newTally(io.Discard)
	got := taggedBatches(found, "../..", true)
	if len(got)+len(found.skipped) != len(taggedPackages) {
		t.Errorf("the root module: got %v, and %v skipped, want %d", got, found.skipped, len(taggedPackages))
	}
	for _, b := range got {
		if want := []string{"-race", "-tags", "utp", "./transport/utp"}; !slices.Equal(append(b.flags, b.packages...), want) {
			t.Errorf("arguments %q, want %q", append(b.flags, b.packages...), want)
		}
	}
	without := newTally(io.Discard)
	if got := taggedBatches(without, "../..", false); len(got) != 0 || len(without.skipped) != len(taggedPackages) {
		t.Errorf("without a C compiler: got %v, and %v skipped", got, without.skipped)
	}
}
