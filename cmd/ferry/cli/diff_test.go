package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDiff compares files with what a node runs, which stays as it is.
func TestDiff(t *testing.T) {
	t.Parallel()
	server := webServer(t, "a")
	text := fmt.Sprintf(proxyYAML, server)
	n := runNode(t, text)
	admin := regexp.MustCompile(`dashboard: (\S+)`).FindStringSubmatch(n.welcome)
	if admin == nil {
		t.Fatalf("no dashboard in %s", n.welcome)
	}
	file, data := filepath.Join(t.TempDir(), "next.yaml"), filepath.Join(n.dir, "ferry-data")
	for _, c := range []struct {
		name, text  string
		status      int
		out, errors string
	}{
		{"the same", text, 0, "", ""},
		{
			"another limit and cluster", text + "limits: {queue: 2MiB}\n" + "drain: {delay: 5s}\n", 1,
			"limits\n  ~ queue: 1MiB -> 2MiB   (for new connections)\ndrain\n  ~ delay: 0s -> 5s\n", "",
		},
		{"an endpoint", strings.Replace(text, server, "127.0.0.1:1", 1), 1, "proxy\n  ~ clusters web endpoints   (", ""},
		{
			"loops", strings.Replace(text, "proxy:\n", "proxy:\n  loops: 7\n", 1), 2, "proxy\n  ! loops: 0 -> 7   (needs restart)\n",
			"a reload refuses the file: proxy.loops: this change needs a restart",
		},
		{"a mistake", text + "limits: {quue: 1}\n", 2, "", file + ":11:10: limits.quue: unknown field"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ferryWith("", "diff", "-c", file, "--data-dir", data, admin[1])
		if got.status != c.status || !strings.HasPrefix(got.stdout, c.out) || !strings.HasPrefix(got.stderr, c.errors) || (c.out == "") != (got.stdout == "") {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c)
		}
	}
	if got := ferryWith("", "diff", "-c", file, "-o", "json", "--data-dir", data, admin[1]); got.status != 2 || !strings.HasPrefix(got.stdout, `{"differences":null,"invalid":[{"file":`) {
		t.Errorf("-o json: got %+v", got)
	}
	if got := ferryWith("", "diff", "-c", file, "http://127.0.0.1:1"); got.status != 2 || !strings.Contains(got.stderr, "is a node running") {
		t.Errorf("without a node: got %+v", got)
	}
	if got := ferryWith("", "diff", "-c", filepath.Join(t.TempDir(), "none.yaml"), admin[1]); got.status != 2 {
		t.Errorf("without a file: got %+v", got)
	}
}
