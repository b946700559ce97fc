package cli

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/cmd/ferry/scaffold"
	"example.com/ferry/internal/needs"
	"example.com/ferry/node"
	"example.com/ferry/stream"
)

// TestNewFunction makes a function in each language and runs its test.
func TestNewFunction(t *testing.T) {
	t.Parallel()
	for language, test := range map[string][]string{
		"go": {"go", "test", "./..."}, "javascript": {"node", "--test"}, "python": {"python3", "-m", "unittest"}, "rust": {"cargo", "test", "--offline", "--quiet"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			needs.Program(t, test[0])
			dir := filepath.Join(t.TempDir(), "my-function")
			if got := ferryWith("", "new", "function", dir, "--lang", language); got.status != 0 || !strings.Contains(got.stdout, "ferry dev") {
				t.Fatalf("got %+v", got)
			}
			if got := ferryWith("", "new", "function", dir, "--lang", language); got.status != statusFailed || !strings.Contains(got.stderr, "exists") {
				t.Errorf("again: got %+v", got)
			}
			if _, err := scaffold.Load(dir); err != nil {
				t.Error(err)
			}
			cmd := exec.CommandContext(t.Context(), test[0], test[1:]...)
			cmd.Dir = dir
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %v\n%s", test, err, output)
			}
		})
	}
	if got := ferryWith("", "new", "function", filepath.Join(t.TempDir(), "My Function"), "--lang", "go"); got.status != statusFailed || !strings.Contains(got.stderr, "is no name for a function") {
		t.Errorf("got %+v", got)
	}
}

// watchedText is a writer whose text a test waits for.
type watchedText struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // has a place for one
}

func (w *watchedText) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return w.text.Write(b)
}

func newWatchedText() *watchedText { return &watchedText{changed: make(chan struct{}, 1)} }

// await waits until the text contains part, and returns the text.
func (w *watchedText) await(t *testing.T, part string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		w.mu.Lock()
		text := w.text.String()
		w.mu.Unlock()
		if strings.Contains(text, part) {
			return text
		}
		select {
		case <-w.changed:
		case <-limit:
			t.Fatalf("never printed %q:\n%s", part, text)
		}
	}
}

// TestDev saves a function while it runs: a guest, which is copied into its place, and a worker in Python.
func TestDev(t *testing.T) {
	t.Parallel()
	guests, err := filepath.Abs("../../../stream/wasm/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		make func(t *testing.T, dir string) // makes the folder with a function that does nothing with the message
		save func(t *testing.T, dir string) // changes the function
		in   string                         // the message
		out  string                         // the tag of what it makes of the message then
	}{
		"wasm": {
			make: func(t *testing.T, dir string) {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				writeText(t, filepath.Join(dir, "source"), "field.wasm")
				writeText(t, filepath.Join(dir, scaffold.File),
					"name: f\nobserve: [in/#]\nbuild: [sh, -c, 'cp $GUESTS/$(cat source) f.wasm']\nenv: {GUESTS: "+guests+"}\nwasm: f.wasm\n")
			},
			save: func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, "source"), "guest.wasm") },
			in:   `{"do":"copy","value":42}`,
			out:  "out/text",
		},
		"python": {
			make: func(t *testing.T, dir string) {
				needs.Program(t, "python3")
				if err := scaffold.Write(dir, "f", "python"); err != nil {
					t.Fatal(err)
				}
			},
			save: func(t *testing.T, dir string) {
				program, err := os.ReadFile(filepath.Join(dir, "function.py"))
				if err != nil {
					t.Fatal(err)
				}
				writeText(t, filepath.Join(dir, "function.py"), strings.Replace(string(program), "LIMIT = 30", "LIMIT = 10", 1))
			},
			in:  `{"value":20}`,
			out: "high/in/after",
		},
		"javascript": {
			make: func(t *testing.T, dir string) {
				needs.Program(t, "node")
				if err := scaffold.Write(dir, "f", "javascript"); err != nil {
					t.Fatal(err)
				}
			},
			save: func(t *testing.T, dir string) {
				program, err := os.ReadFile(filepath.Join(dir, "function.mjs"))
				if err != nil {
					t.Fatal(err)
				}
				writeText(t, filepath.Join(dir, "function.mjs"), strings.Replace(string(program), "LIMIT = 30", "LIMIT = 10", 1))
			},
			in:  `{"value":20}`,
			out: "high/in/after",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "f")
			row.make(t, dir)
			project, err := scaffold.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr := newWatchedText(), newWatchedText()
			e := &env{stdout: stdout, stderr: stderr, extensions: builtin(), formats: builtin().Formats}
			tcp := tcpTransport(t)
			d := &development{env: e, dir: dir, project: project, listen: address{tcp, "127.0.0.1:0"}}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- d.run(ctx) }()
			text := stderr.await(t, "--data-dir")
			_, rest, _ := strings.Cut(text, "ferry pub -a tcp://")
			addr, _, _ := strings.Cut(rest, " ")
			at := nodeFlags{Addr: address{tcp, addr}, DataDir: filepath.Join(dir, devData)}
			client, err := at.dial(t.Context(), e, stream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			publish := func(tag string) {
				t.Helper()
				if err := client.Send(t.Context(), ferry.Message{Tag: tag, Type: ferry.JSON, Payload: []byte(row.in)}); err != nil {
					t.Fatal(err)
				}
				stdout.await(t, `"tag":"`+tag+`"`)
			}
			publish("in/before")
			row.save(t, dir)
			stderr.await(t, "built and started again")
			publish("in/after")
			stdout.await(t, `"tag":"`+row.out+`"`)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// tcpTransport returns the transport of tcp.
func tcpTransport(t *testing.T) node.Transport {
	t.Helper()
	for _, each := range node.Transports() {
		if each.Scheme == "tcp" {
			return each
		}
	}
	t.Fatal("there is no tcp")
	return node.Transport{}
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDevSources: what a build does not read makes ferry dev build nothing again, such as a file that the output goes to, and a file that has the same content.
func TestDevSources(t *testing.T) {
	dir := t.TempDir()
	code, data, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "data.json"), filepath.Join(dir, "out")
	for _, file := range []string{code, data, out, filepath.Join(dir, "f.wasm")} {
		writeText(t, file, "first")
	}
	f, err := os.OpenFile(out, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	for name, row := range map[string]struct {
		project scaffold.Project
		stdout  *os.File
		want    []string
	}{
		"go":                      {scaffold.Project{Build: []string{"/usr/bin/go1.26.1", "build"}}, stdout, []string{code}},
		"another program":         {scaffold.Project{Build: []string{"make"}}, f, []string{data, code}}, // ferry dev > out
		"without a build":         {scaffold.Project{Wasm: "f.wasm"}, f, []string{data, code}},
		"what function.yaml says": {scaffold.Project{Build: []string{"make"}, Watch: []string{"*.json", "f.wasm"}}, stdout, []string{data, filepath.Join(dir, "f.wasm")}},
	} {
		os.Stdout = row.stdout
		d := &development{dir: dir, project: row.project}
		if got := slices.Sorted(maps.Keys(d.sources(nil))); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
	d := &development{dir: dir, project: scaffold.Project{Command: []string{"go"}}}
	first := d.sources(nil)
	if err := os.Chtimes(code, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	touched := d.sources(first)
	writeText(t, code, "other")
	if changed := d.sources(touched); !first[code].same(touched[code]) || touched[code].same(changed[code]) {
		t.Errorf("got %v, touched %v, changed %v", first, touched, changed)
	}
}

// TestDevEmbeds: what a Go file embeds is read by the build, whatever function.yaml says.
func TestDevEmbeds(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"main.go": "package main\n\nimport _ \"embed\"\n\n//go:embed limits.json \"two words.txt\"\nvar limits string\n", "limits.json": "1", "two words.txt": "", "other.json": "",
		"pages/pages.go": "package pages\n\nvar (\n\t//go:embed all:html *.css\n\tfiles embed.FS\n)\n", "pages/html/deep/index.html": "", "pages/a.css": "", "a.css": "",
	}
	want := []string{"limits.json", "main.go", "pages/a.css", "pages/html/deep/index.html", "pages/pages.go", "two words.txt"}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(dir, name), text)
	}
	d := &development{dir: dir, project: scaffold.Project{Build: []string{"go"}, Watch: []string{"*.go"}}}
	first := d.sources(nil)
	for i := range want {
		want[i] = filepath.Join(dir, want[i])
	}
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	writeText(t, filepath.Join(dir, "limits.json"), "22")
	if again := d.sources(first); maps.EqualFunc(first, again, source.same) || !maps.Equal(again, d.sources(again)) {
		t.Error("another content of an embedded file makes no difference")
	}
}

// TestDevWatch: a pattern that matches no name of a file is refused.
func TestDevWatch(t *testing.T) {
	dir := t.TempDir()
	for _, pattern := range []string{"[", "templates/*.html"} {
		writeText(t, filepath.Join(dir, scaffold.File), "name: f\nobserve: [a]\ncommand: [x]\nwatch: [\""+pattern+"\"]\n")
		if _, err := scaffold.Load(dir); err == nil || !strings.Contains(err.Error(), "watch") {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}
