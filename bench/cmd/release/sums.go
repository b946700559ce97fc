package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Bounds of sizes: with everything in it, ferry has to stay a small download.
const (
	maxBinary = 48 << 20
	maxDeb    = 16 << 20
)

// sums writes SHA256SUMS, which sha256sum -c reads.
func (r *release) sums(context.Context, string) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, f := range files {
		data, err := os.ReadFile(r.file(f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	return os.WriteFile(r.file("SHA256SUMS"), text.Bytes(), 0o644)
}

// sizes prints all sizes, and returns an error if a binary or package is too large.
func (r *release) sizes() error {
	var errs []error
	report := func(name, path string, bound int64) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.log, "%8.1f MiB  %s\n", float64(info.Size())/(1<<20), name)
		if bound > 0 && info.Size() > bound {
			errs = append(errs, fmt.Errorf("%s has %d bytes, more than %d: link less, or raise the bound with a reason", name, info.Size(), bound))
		}
		return nil
	}
	for _, b := range r.binaries {
		if err := report(b.program()+" for "+b.String(), b.path, maxBinary); err != nil {
			return err
		}
	}
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, f := range files {
		var bound int64
		if strings.HasSuffix(f.Name(), ".deb") {
			bound = maxDeb
		}
		if err := report(f.Name(), r.file(f.Name()), bound); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}
