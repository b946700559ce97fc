package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/node/config"
)

// TestSameCredentials: two identities with one token, however it is written, or with one common_name, are an error that names the field.
func TestSameCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("sixteen-plain-characters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const sum = "sha256:7b9ae32e0a4a5a9f0e3c54d9c3ef2cb5b0d4d59c1a3a9c1d9c6a0b1c2d3e4f50"
	for _, tt := range []struct{ name, first, second, want string }{
		{"token", "token: sixteen-plain-characters", "token: sixteen-plain-characters", `identities[1].token: the same token as that of identity "a"`},
		{"token and file", "token: sixteen-plain-characters", "token_file: " + file, `identities[1].token_file: the same token as that of identity "a"`},
		{"hash", "token: " + sum, "token: " + sum, `identities[1].token: the same token as that of identity "a"`},
		{"common_name", "common_name: x", "common_name: x", `identities[1].common_name: "x" is that of identity "a", too`},
		{"different", "token: sixteen-plain-characters", "token: other-plain-characters", ""},
	} {
		path := filepath.Join(t.TempDir(), "node.yaml")
		yaml := "identities:\n  - {name: a, " + tt.first + "}\n  - {name: b, " + tt.second + "}\n"
		if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(path, config.Program{})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}
