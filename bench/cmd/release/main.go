// Release builds everything that a version of ferry is published as: binaries, Debian and RPM packages, OCI images, the Helm chart, plain
// manifests, a list of what is linked (SPDX), and checksums. The result depends on the commit and the version only: two runs on any machine
// give the same bytes.
//
//	cd bench && go run ./cmd/release -version v1.2.3 -o ../dist
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes the release that the command line describes.
func run() error {
	r := release{log: os.Stdout}
	flag.StringVar(&r.root, "C", "..", "the `directory` of the module that is released")
	flag.StringVar(&r.out, "o", "../dist", "the `directory` to fill; files of an earlier release in it are removed")
	flag.StringVar(&r.version, "version", "", "the `version`, such as v1.2.3; that of the commit if empty")
	only := flag.String("only", "", "the `platforms` to build, such as linux/amd64,linux/arm64; all if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.choose(*only); err != nil {
		return err
	}
	return r.run(ctx)
}

// release is one run.
type release struct {
	root, out string
	version   string    // v1.2.3
	time      time.Time // of the commit: the modification time of all files
	platforms []platform
	binaries  []binary // what was built
	log       io.Writer
}

// number returns the version without v, as packages and charts have it.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// file returns the path of a file of the release.
func (r *release) file(name string) string { return filepath.Join(r.out, name) }

// run makes all files, in the order in which they need each other.
func (r *release) run(ctx context.Context) error {
	if err := r.clear(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "ferry-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := r.identify(ctx, work); err != nil {
		return err
	}
	fmt.Fprintf(r.log, "ferry %s of %s\n", r.version, r.time.Format(time.RFC3339))
	for _, step := range []func(context.Context, string) error{
		r.build, r.archive, r.packages, r.images, r.deployments, r.sbom, r.sums,
	} {
		if err := step(ctx, work); err != nil {
			return err
		}
	}
	return r.sizes()
}

// clear makes the output directory, or removes an earlier release from it. It refuses a directory with other files.
func (r *release) clear() error {
	files, err := os.ReadDir(r.out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if f.IsDir() || f.Name() != "SHA256SUMS" && !strings.HasPrefix(f.Name(), "ferry") {
			return fmt.Errorf("%s has %s, which is not of a release: choose another directory", r.out, f.Name())
		}
	}
	for _, f := range files {
		if err := os.Remove(r.file(f.Name())); err != nil {
			return err
		}
	}
	return os.MkdirAll(r.out, 0o755)
}
