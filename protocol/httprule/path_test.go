package httprule

import (
	"bytes"
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestReadPath(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ path, first, second, problem string }{
		{"/", "/", "/", ""},
		{"*", "*", "*", ""},
		{"", "", "", ""},
		{"/a/b.c/~d", "/a/b.c/~d", "/a/b.c/~d", ""},
		{"/%61dmin", "/admin", "/admin", ""},
		{"/%2D%2e%5f%7E", "/-._~", "/-._~", ""},
		{"/a/../admin", "/admin", "/admin", ""},
		{"/a/%2e%2E/admin", "/admin", "/admin", ""},
		{"/./a/./b/.", "/a/b/", "/a/b/", ""},
		{"/a/b/..", "/a/", "/a/", ""},
		{"/...", "/...", "/...", ""},
		{"/.well-known/x", "/.well-known/x", "/.well-known/x", ""},
		{"//admin", "//admin", "/admin", ""},
		{"/a//b", "/a//b", "/a/b", ""},
		{"/a//../b", "/a/b", "/a/b", ""},
		{"/admin%2fx", "/admin%2fx", "/admin/x", ""},
		{"/admin%5Cx", "/admin%5Cx", "/admin/x", ""},
		{"/a%2f%2fb", "/a%2f%2fb", "/a/b", ""},
		{"/a%2f..%2fadmin", "/a%2f..%2fadmin", "/admin", ""},
		{"/@scope%2fpkg", "/@scope%2fpkg", "/@scope/pkg", ""},
		{"/%2541", "/%2541", "/%2541", ""},
		{"/%252e%252e/", "/%252e%252e/", "/%252e%252e/", ""},
		{"/a%20b%C3%A4", "/a%20b%C3%A4", "/a%20b%C3%A4", ""},
		{"/a;b=..", "/a;b=..", "/a;b=..", ""},
		{"/..", "", "", aboveRoot},
		{"/a/../../b", "", "", aboveRoot},
		{"/a%2f..%2f..%2fb", "", "", aboveRoot},
		{"/a/..;x/b", "", "", dotParameter},
		{"/a/.;/b", "", "", dotParameter},
		{"/a/%2e.;x/b", "", "", dotParameter},
		{"/a%2f..;x", "", "", dotParameter},
		{"/a/%2f../b", "", "", ambiguousDot},
		{"/a%00", "", "", zeroByte},
		{"/a%zz", "", "", badEscape},
		{"/a%4", "", "", badEscape},
		{"/a\"b", "", "", badChar},
		{"/a\\b", "", "", badChar},
		{"/a<b>", "", "", badChar},
		{"/a#b", "", "", badChar},
		{"/a\x7f", "", "", badChar},
		{"/\xc3\xa4", "", "", badChar},
	} {
		var r PathReader
		for range 2 { // the second time with memory of the first
			got, problem := r.Read([]byte(row.path))
			if problem != row.problem || string(got.First) != row.first || string(got.Second) != row.second {
				t.Errorf("%q: %q, %q, %q; want %q, %q, %q", row.path, got.First, got.Second, problem, row.first, row.second, row.problem)
			}
		}
	}
}

// TestKeptBy: a server gets a path as the client has sent it. It may merge slashes, decode separators or both before it removes dot segments.
func TestKeptBy(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": true, "/a//b": true, "/a/./%61": true, "/a/../b": true, "/a//%2e": true, "/@scope%2fpkg": true, "/a//b/../c": true, "/a%2fb/./c": true,
		"/public//../admin": false, "/public//%2e%2e/admin": false, "/public/%2f/../admin": false, "/public/%2F/%2e./admin": false,
		"/public/a%2fb/../admin": false, "/public/a%5cb/../admin": false, "/a//b%2fx/../../c": false, "/a//b/../../c": false, "/a//.//../c": false,
	} {
		var r PathReader
		p, problem := r.Read([]byte(path))
		if problem != "" {
			t.Fatalf("%q: %s", path, problem)
		}
		if got := p.KeptBy([]byte(path)); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}

func TestHasDots(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/a/b": false, "/a//b": false, "/a../b": false, "/a/%2541": false, "/a%2fb": false, "/a;..": false,
		"/a/../b": true, "/a/.": true, "/a%2f..": true, "/a/%2e%2e/b": true, "/a/..;x": true, "/a%5c..%5cb": true, "/a b": true, "/%zz": true, "/%00": true,
	} {
		if got := HasDots([]byte(path)); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}

// FuzzReadPath: a reading is its own reading, and agrees with package path where that reads a path in the same way.
func FuzzReadPath(f *testing.F) {
	for _, seed := range []string{"/a/../b", "/%2e/x", "//a//b/../c", "/a%2f..%5cb", "/..;/", "/%25%32%65"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r, again PathReader
		p, problem := r.Read([]byte(text))
		if problem != "" || !strings.HasPrefix(text, "/") {
			return
		}
		q, problem := again.Read(p.First)
		if problem != "" || !bytes.Equal(q.First, p.First) || !bytes.Equal(q.Second, p.Second) {
			t.Fatalf("%q is %q and %q; the first again is %q, %q, %q", text, p.First, p.Second, q.First, q.Second, problem)
		}
		if HasDots(p.First) && p.Same() {
			t.Fatalf("%q is %q, which has dot segments", text, p.First)
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || strings.Contains(decoded, "\\") || strings.Contains(strings.ToLower(text), "%2f") {
			return
		}
		mine, err := url.PathUnescape(string(p.Second))
		if err != nil {
			t.Fatalf("%q is %q: %v", text, p.Second, err)
		}
		if want := path.Clean(decoded); !strings.Contains(text, "//") && path.Clean(mine) != want {
			t.Fatalf("%q is %q, package path says %q", text, mine, want)
		}
	})
}
