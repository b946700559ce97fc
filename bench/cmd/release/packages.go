package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// packages makes the Debian and RPM packages of the binaries for Linux, as packaging/nfpm.yaml describes them.
func (r *release) packages(ctx context.Context, _ string) error {
	out, err := filepath.Abs(r.out)
	if err != nil {
		return err
	}
	nfpm := filepath.Join("bin", "nfpm")
	if _, err := r.command(ctx, nil, "test", "-x", nfpm); err != nil {
		return errors.New("packages need bin/nfpm: make deps")
	}
	for _, b := range r.binaries {
		if b.os != "linux" {
			continue
		}
		env := []string{
			"BINARY=" + b.path, "ARCH=" + b.arch + b.arm, "VERSION=" + r.version, "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10),
		}
		for _, kind := range []string{"deb", "rpm"} {
			if _, err := r.command(ctx, env, filepath.Join(".", nfpm), "package", "-f", "packaging/nfpm.yaml", "-p", kind, "-t", out+"/"); err != nil {
				return fmt.Errorf("%s of %s: %w", kind, b, err)
			}
		}
	}
	return nil
}
