package discovery_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/discovery"
)

// replace replaces a file at once, as tools that keep such files do.
func replace(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, content, want, err string }{
		{"lines", "# web\n192.0.2.1:80\n\n  [2001:db8::1]:80 3 # twice the machine\r\nunix:/run/a.sock", "192.0.2.1:80  0/1, [2001:db8::1]:80  0/3, unix:/run/a.sock  0/1", ""},
		{"IPv6 first", "[::1]:80\n", "[::1]:80  0/1", ""},
		{"YAML", "# web\n- 192.0.2.1:80\n- address: 192.0.2.2:80\n  weight: 1000\n- {address: 'unix:/a'}\n", "192.0.2.1:80  0/1, 192.0.2.2:80  0/1000, unix:/a  0/1", ""},
		{"JSON", `[{"address": "192.0.2.1:80", "weight": 2}, "192.0.2.2:80"]`, "192.0.2.1:80  0/2, 192.0.2.2:80  0/1", ""},
		{"IPv4 in IPv6", "[::ffff:192.0.2.1]:80", "192.0.2.1:80  0/1", ""},
		{"empty", "", "", "no endpoints"},
		{"a comment", "# none\n", "", "no endpoints"},
		{"an empty list", "[]", "", "no endpoints"},
		{"a name", "192.0.2.1:80\na.example:80", "", `line 2: "a.example:80": write IP:PORT`},
		{"no port", "192.0.2.1", "", "line 1:"},
		{"port 0", "192.0.2.1:0", "", "line 1:"},
		{"no path", "unix:", "", "line 1:"},
		{"three words", "192.0.2.1:80 1 2", "", "line 1:"},
		{"weight 0", "192.0.2.1:80 0", "", "weight 0: give 1 to 1000"},
		{"weight 1001", "192.0.2.1:80 1001", "", "weight 1001"},
		{"weight of letters", "192.0.2.1:80 w", "", `weight "w" is not a number`},
		{"twice", "192.0.2.1:80\n192.0.2.1:80", "", "line 2: 192.0.2.1:80 is listed already, in line 1"},
		{"YAML, twice", "- 192.0.2.1:80\n- {address: 192.0.2.1:80, weight: 2}", "", "endpoint 2: 192.0.2.1:80 is listed already, in endpoint 1"},
		{"YAML, weight 0", "- {address: 192.0.2.1:80, weight: 0}", "", "endpoint 1: weight 0"},
		{"YAML, no address", "- weight: 2", "", "endpoint 1:"},
		{"YAML, unknown field", "- {address: 192.0.2.1:80, wait: 2}", "", "wait"},
		{"YAML, cut off", "- {address: 192.0.2.1:80, wei", "", "write a list of addresses"},
		{"YAML, a mapping", "[{", "", "write a list of addresses"},
		{"too long", strings.Repeat("#\n", 1<<19) + "#", "", "more than 1048576 bytes"},
		{"too many", strings.Repeat("192.0.2.1:80\n", 10_001), "", "10001 endpoints: 10000 is the most"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "endpoints")
			replace(t, path, row.content)
			list, err := discovery.ReadFile(path)
			if got := text(list); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
			if (err == nil) != (row.err == "") || err != nil && (!strings.Contains(err.Error(), row.err) || !strings.Contains(err.Error(), path)) {
				t.Errorf("got error %v, want %q", err, row.err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
		})
	}
}

// TestFile follows a file that is replaced, broken, removed and created again.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "endpoints")
	src := discovery.File(path)
	fails := func(text string) {
		t.Helper()
		if got, err := next(t, src); err == nil || !strings.Contains(err.Error(), text) || got != "" {
			t.Fatalf("got %q, %v; want an error with %q", got, err, text)
		}
	}
	fails("no such file")
	replace(t, path, "192.0.2.1:80\n")
	for got, err := next(t, src); ; got, err = next(t, src) { // the file may have been missing once more
		if err == nil {
			if got != "192.0.2.1:80  0/1" {
				t.Fatalf("got %s", got)
			}
			break
		}
	}
	replace(t, path, "- {address: 192.0.2.1:80, weight: 5}\n")
	want(t, src, "192.0.2.1:80  0/5")
	if err := os.WriteFile(path, []byte("192.0.2.2:80 9\n"), 0o600); err != nil { // written in place
		t.Fatal(err)
	}
	want(t, src, "192.0.2.2:80  0/9")
	replace(t, path, "192.0.2.3:80 many\n")
	fails(`weight "many"`)
	fails(`weight "many"`) // until it is valid again
	replace(t, path, "192.0.2.4:80\n")
	for got, err := next(t, src); ; got, err = next(t, src) {
		if err == nil {
			if got != "192.0.2.4:80  0/1" {
				t.Fatalf("got %s", got)
			}
			break
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	fails("no such file")
}

func FuzzReadFile(f *testing.F) {
	f.Add([]byte("192.0.2.1:80 3\n"))
	f.Add([]byte("- {address: 192.0.2.1:80, weight: 3}\n"))
	f.Add([]byte("- &a 192.0.2.1:80\n- *a\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "endpoints")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := discovery.ReadFile(path)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("got %d endpoints, %v", len(list), err)
		}
		for _, e := range list {
			if e.Weight < 1 || e.Weight > 1000 || e.Addr == "" || e.Name != "" {
				t.Errorf("got %+v", e)
			}
		}
	})
}
