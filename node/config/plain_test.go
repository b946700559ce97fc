package config

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// byLibrary reads a text as Config does that is not plain, without the checks.
func byLibrary(text string) (*Config, Errors) {
	s := &Source{env: os.LookupEnv, match: func(string) ([]string, error) { return nil, nil }}
	s.load("node.yaml", []byte(text))
	return s.decoded()
}

// comparePlain fails the test if a plainReader reads another configuration than the library. It reports whether the text is plain.
func comparePlain(t *testing.T, text string) bool {
	t.Helper()
	memory := new(plainMemory)
	got := readPlain(text, memory)
	if again := readPlain(text, memory); !reflect.DeepEqual(got, again) {
		t.Fatalf("first\n%+v\nand then\n%+v of\n%s", got, again, text)
	}
	if got == nil {
		return false
	}
	want, errs := byLibrary(text)
	if len(errs) > 0 {
		t.Fatalf("what the library refuses is read: %v\n%s", errs, text)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got\n%+v %+v\nwant\n%+v %+v of\n%s", got, got.Proxy, want, want.Proxy, text)
	}
	return true
}

// TestPlainFiles reads the files of the repository.
func TestPlainFiles(t *testing.T) {
	plain, all := 0, 0
	for _, root := range []string{"../../examples", "testdata"} {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && comparePlain(t, string(data)) {
				plain++
			}
			all++
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d files are plain", plain, all)
	if plain < 10 {
		t.Errorf("%d of %d files are plain: most are expected to be", plain, all)
	}
}

// gateway returns a configuration with n routes.
func gateway(n int) string {
	var b strings.Builder
	b.WriteString(`# a gateway
admin:
  address: 127.0.0.1:4195 # for scrapers
log: {level: warn, format: "json"}
proxy:
  clusters:
    - name: web
      endpoints:
        - address: 127.0.0.1:8080
    - {name: spare, endpoints: [{address: 127.0.0.1:8081}, {address: '127.0.0.1:8082'}]}
  listeners:
  - address: 127.0.0.1:80
    protocol: http1
    virtual_hosts:
`)
	for i := range n {
		if i%10 == 0 {
			fmt.Fprintf(&b, "      - hosts: [shop-%d.example.com, '*.shop-%[1]d.example.com']\n        routes:\n", i/10)
		}
		fmt.Fprintf(&b, "          - name: route-%d\n            match:\n              prefix: /service-%d/\n              methods: [GET, POST]\n", i, i%10)
		if i%7 == 0 {
			b.WriteString("              headers:\n                - {name: x-tenant, value: \"tenant 0\"}\n")
		}
		b.WriteString("            cluster: web\n\n            # it names the route\n            forward:\n              timeout: 15s\n              request: {set: [{name: X-Route, value: r}]}\n")
	}
	return b.String()
}

func TestPlainGateway(t *testing.T) {
	if !comparePlain(t, gateway(30)) {
		t.Error("the gateway is not plain")
	}
}

// TestPlainRefuses has texts that need the library: for what they are, or for its errors.
func TestPlainRefuses(t *testing.T) {
	for _, text := range []string{
		"", "# nothing\n", "---\nnames: [a]\n", "names: [a]\n---\n", "names:\n", "names: ~\n", "names: &a [b]\n", "names: [*a]\n", "names: !!str [a]\n", "log: {level: ${LEVEL}}\n",
		"names: [a, ]\n", "names: [a\n", "names: [a]]\n", "names: [a] b\n", "names: [,a]\n", "names: [a b: c]\n", "names: [true]\n", "names: [12]\n", "names: [1.5]\n", "names: [\"a\\nb\"]\n",
		"names: ['it''s']\n", "names: [a]\nnames: [b]\n", "unknown: 1\n", "limits: {max_tags: -1}\n", "limits: {max_tags: 0x10}\n", "limits: {max_tags: 010}\n", "limits: {max_tags: x}\n", "log: {level: loud}\n",
		"limits: {heartbeat: 10}\n", "limits: {heartbeat: 1m30s}\n", "data_dir: |\n  a\n", "data_dir: >\n  a\n", "data_dir: a\n  b\n", "data_dir:\n  a\n", "data_dir: a: b\n", "data_dir: a #b\n c: d\n", "data_dir: 'a' # b\n",
		"data_dir: a#b\n", "data_dir: \"a\n", "log:\n level: warn\n  format: json\n", "log:\n  level: warn\n format: json\n", " log: {level: warn}\nnames: [a]\n", "log:\n\tlevel: warn\n", "log: {level: warn}\r\n",
		"include: [a.yaml]\n", "data_dir: caf\u00e9\n", "names:\n- a\n - b\n", "names:\n  - a\n- b\n", "names:\n-\n  a\n", "names: [\"a\"b]\n", "identities:\n  - publish: [a]\n    - name: b\n", "proxy: {listeners: [{}]}\nlive: {interval: 1 s}\n",
		"identities: [{name: a, name: b}]\n", "log: [level]\n", "names: {a: b}\n", "log: warn\n", "names: a\n", "log: {level: }\n", "log: {level:warn}\n", "log:{level: warn}\n", "- a\n", "? a\n", "data_dir: \"a\" \"b\"\n", "data_dir: @a\n", "data_dir: no\n",
	} {
		if got := readPlain(text, new(plainMemory)); got != nil {
			if _, errs := byLibrary(text); len(errs) > 0 || !comparePlain(t, text) {
				t.Errorf("%q is read: %+v", text, got)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		text := gateway(n)
		b.Run(fmt.Sprintf("%d/first", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if readPlain(text, new(plainMemory)) == nil {
					b.Fatal("not plain")
				}
			}
		})
		b.Run(fmt.Sprintf("%d/again", n), func(b *testing.B) {
			memory := new(plainMemory)
			readPlain(text, memory)
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if readPlain(text, memory) == nil {
					b.Fatal("not plain")
				}
			}
		})
	}
}

// TestPlainTexts reads random texts in blocks and on one line, with and without quotes.
func TestPlainTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	parts := []string{
		"a", "b-c", "no", "true", "null", "10", "1.5", "1e3", "0x1f", ".inf", "127.0.0.1:80", "/p", ":", ": ", " ", ",", "#", " #", "-", "- ", "?", "=", "(", ")", "<", "*", "&", "!", "|", "@", "%", "~", "`", "\\", "'", "\"", "[", "]", "{", "}", "+", "_", ".", ";", "é",
	}
	plain := 0
	for range 20_000 {
		text := ""
		for range 1 + r.IntN(4) {
			text += parts[r.IntN(len(parts))]
		}
		other := parts[r.IntN(len(parts))]
		form := []string{
			"data_dir: %s\n", "data_dir: %s # %s\n", "data_dir: \"%s\"\n", "data_dir: '%s'\n", "names: [%s, %s]\n", "names: [ %s ,%s ]\n", "names:\n  - %s\n  - %s\n", "admin: {address: %s, hosts: [%s]}\n", "admin:\n  address: %s\n  token_file: %s\n",
			"names: [\"%s\", '%s']\n", "cpu: {queue: %s}\n", "log: {level: %s}\n", "drain: {timeout: %s}\n",
		}[r.IntN(13)]
		args := []any{text, other}
		if comparePlain(t, fmt.Sprintf(form, args[:strings.Count(form, "%s")]...)) {
			plain++
		}
	}
	if plain < 2000 {
		t.Errorf("%d texts are plain: too few to compare", plain)
	}
}
