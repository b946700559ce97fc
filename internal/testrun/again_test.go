package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunAgain tests modules whose tests fail: once, always, with a data race, and in large numbers.
func TestRunAgain(t *testing.T) {
	const once = `
func TestOnce(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		if _, err := os.Stat("ran"); err != nil {
			_ = os.WriteFile("ran", nil, 0o600)
			t.Error("the first time")
		}
	})
}
`
	many := ""
	for c := range mostAgain {
		many += fmt.Sprintf("func TestAlways%d(t *testing.T) { t.Error(os.Args[0]) }\n", c)
	}
	for _, row := range []struct {
		name, text string
		ok         bool
		want       string // the end of the report
	}{
		{
			"once", once, true,
			"again x TestOnce: failed beside other tests and passed alone\n3 passed, 0 failed, 0 skipped\n",
		},
		{
			"always", "func TestAlways(t *testing.T) { t.Error(os.Args[0]) }\n", false,
			"\n1 passed, 1 failed, 0 skipped\n",
		},
		{
			"dies", once + "func TestDies(t *testing.T) { t.Cleanup(func() { panic(os.Args[0]) }) }\n", false,
			" failed, 0 skipped\n",
		},
		{
			"many", once + many, false,
			"\n1 passed, 12 failed, 0 skipped\n",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":    "module x\n",
				"x_test.go": "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestGood(t *testing.T) {}\n" + row.text,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			ok, err := run(&out, []string{dir}, options{})
			if ok != row.ok || err != nil {
				t.Errorf("got %v, %v, want %v", ok, err, row.ok)
			}
			if !strings.HasSuffix(out.String(), row.want) {
				t.Errorf("got\n%s\nwant the end\n%s", out.String(), row.want)
			}
		})
	}
}
