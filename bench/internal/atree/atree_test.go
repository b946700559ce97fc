package atree

import (
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	text, err := source.ReadFile("program/Cargo.toml")
	if err != nil || !strings.Contains(string(text), `a-tree = "=`+Version+`"`) {
		t.Errorf("Cargo.toml has another version than %s (%v)", Version, err)
	}
}
