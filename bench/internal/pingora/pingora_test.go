package pingora

import (
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	text, err := source.ReadFile("program/Cargo.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pingora-core", "pingora-proxy"} {
		if !strings.Contains(string(text), name+` = "=`+Version+`"`) {
			t.Errorf("Cargo.toml has another version of %s than %s", name, Version)
		}
	}
}
