//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/internal/needs"
)

var update = flag.Bool("update", false, "rewrite packaging/kubernetes")

const (
	root    = "../../.."
	version = "v1.2.3-rc.1"
	number  = "1.2.3-rc.1"
)

// python has what `make deps` installs.
const python = root + "/bin/python/bin/python"

// made is a release for this machine's architecture and one other, which all tests read.
var made struct {
	sync.Once
	release
	err error
}

// makeRelease returns the release. The first call makes it.
func makeRelease(t *testing.T) *release {
	t.Helper()
	if _, err := os.Stat(root + "/bin/nfpm"); err != nil {
		needs.Missing(t, "nfpm", "make deps")
	}
	made.Do(func() { made.err = runRelease(&made.release, "linux/amd64,linux/arm64") })
	if made.err != nil {
		t.Fatal(made.err)
	}
	return &made.release
}

func runRelease(r *release, only string) error {
	dir, err := os.MkdirTemp("", "ferry-dist-")
	if err != nil {
		return err
	}
	kept = append(kept, dir)
	*r = release{root: root, out: filepath.Join(dir, "dist"), version: version, log: io.Discard}
	return errors.Join(r.choose(only), r.run(context.Background()))
}

// kept are directories that TestMain removes.
var kept []string

func TestMain(m *testing.M) {
	status := m.Run()
	for _, dir := range kept {
		_ = os.RemoveAll(dir)
	}
	os.Exit(status)
}

// output runs a program and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s%s", name, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// inTar returns the files of a tar: their content by name, without ./ at the start.
func inTar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[strings.TrimPrefix(h.Name, "./")], err = io.ReadAll(a); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unzip(t *testing.T, data []byte) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// program returns the binary that a platform's archive has.
func program(t *testing.T, r *release, platform string) []byte {
	t.Helper()
	dir := fmt.Sprintf("ferry_%s_%s", number, platform)
	binary := inTar(t, unzip(t, read(t, r.file(dir+".tar.gz"))))[dir+"/ferry"]
	if binary == nil {
		t.Fatalf("%s.tar.gz has no ferry", dir)
	}
	return binary
}

// TestReproducible makes a part of the release again. It has to have the same bytes, and to name nothing of this machine.
func TestReproducible(t *testing.T) {
	first, second := makeRelease(t), new(release)
	t.Setenv("TMPDIR", t.TempDir())
	if err := runRelease(second, "linux/amd64"); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(second.out)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, f := range files {
		if f.Name() == "SHA256SUMS" || strings.HasSuffix(f.Name(), ".spdx.json") { // of all platforms together
			continue
		}
		if !bytes.Equal(read(t, first.file(f.Name())), read(t, second.file(f.Name()))) {
			t.Errorf("%s has other bytes when it is made again", f.Name())
		}
		compared++
	}
	if compared != 6 { // archive, deb, rpm, image, chart, manifests
		t.Errorf("compared %d files, want 6", compared)
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(program(t, first, "linux_amd64"), []byte("\x00"+here+"/")) { // a name in Go's table of source files
		t.Errorf("the binary contains %s", here)
	}
}

func TestSums(t *testing.T) {
	r := makeRelease(t)
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = r.out
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, text)
	}
	files, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := bytes.Count(text, []byte(": OK\n")), len(files)-1; got != want {
		t.Errorf("SHA256SUMS has %d files of %d", got, want)
	}
}

// TestSBOM reads the document with another implementation of SPDX, and looks for modules that are linked and for one that only tests use.
func TestSBOM(t *testing.T) {
	r := makeRelease(t)
	path := r.file("ferry_" + number + ".spdx.json")
	var doc struct {
		Packages []struct {
			Name        string `json:"name"`
			VersionInfo string `json:"versionInfo"`
		} `json:"packages"`
		Files []struct {
			Name string `json:"fileName"`
		} `json:"files"`
	}
	if err := json.Unmarshal(read(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, p := range doc.Packages {
		versions[p.Name] = p.VersionInfo
	}
	for name, linked := range map[string]bool{"stdlib": true, "github.com/nats-io/nats.go": true, "github.com/nats-io/nats-server/v2": false, "github.com/hanwen/go-fuse/v2": false} {
		if (versions[name] != "") != linked {
			t.Errorf("%s: version %q, linked %v", name, versions[name], linked)
		}
	}
	if versions["ferry"] != version || len(doc.Files) != 2 {
		t.Errorf("ferry %q with %d binaries, want %s with 2", versions["ferry"], len(doc.Files), version)
	}
	needsPython(t)
	output(t, filepath.Dir(python)+"/pyspdxtools", "-i", path)
}

// needsPython skips the test unless `make deps` has installed the Python packages that the tests use.
func needsPython(t *testing.T) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), python, "-c", "import helm_python, kubernetes_validate, spdx_tools").Run(); err != nil {
		needs.Missing(t, "Helm's and SPDX's packages for Python", "make deps")
	}
}
