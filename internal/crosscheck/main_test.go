package main

import (
	"os"
	"strings"
	"testing"
)

// TestCheck checks a module that has an error on one platform, one on machines with 32 bits, and one in the body of a function.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":       "module x\n\ngo 1.26\n",
		"x.go":         "package main\n\nimport \"errors\"\n\nfunc main() { _ = errors.New; own() }\n",
		"x_linux.go":   "package main\n\nconst wide uint64 = 1 << 40\n\nfunc own() { println(int(wide)) }\n",
		"x_windows.go": "package main\n\nfunc own() {}\n",
		"x_freebsd.go": "package main\n\nfunc own() { missing() }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string]string{
		"linux/arm64": "", "windows/amd64": "", "linux/386": "overflows", "freebsd/amd64": "undefined: missing", "darwin/arm64": "undefined: own",
		"linux": "GOOS/GOARCH",
	} {
		switch err := check(".", platform); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", platform, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", platform, err, want)
		}
	}
}
