package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// platform is one that ferry is released for.
type platform struct {
	os, arch string
	arm      string // GOARM
	emulator string // runs its programs on another Linux machine
}

// targets are the platforms of a release.
var targets = []platform{
	{os: "linux", arch: "amd64"},
	{os: "linux", arch: "arm64", emulator: "qemu-aarch64"},
	{os: "linux", arch: "arm", arm: "7", emulator: "qemu-arm"},
	{os: "linux", arch: "riscv64", emulator: "qemu-riscv64"},
	{os: "darwin", arch: "amd64"},
	{os: "darwin", arch: "arm64"},
	{os: "windows", arch: "amd64"},
}

// String returns what file names have: linux_armv7.
func (p platform) String() string {
	if p.arm != "" {
		return p.os + "_" + p.arch + "v" + p.arm
	}
	return p.os + "_" + p.arch
}

// program returns the name of the binary.
func (p platform) program() string {
	if p.os == "windows" {
		return "ferry.exe"
	}
	return "ferry"
}

// binary is a built program.
type binary struct {
	platform
	path string
}

// choose sets the platforms to build.
func (r *release) choose(only string) error {
	if only == "" {
		r.platforms = targets
		return nil
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(targets, func(p platform) bool { return p.os+"/"+p.arch == name })
		if i < 0 {
			return fmt.Errorf("%s is no platform of a release", name)
		}
		r.platforms = append(r.platforms, targets[i])
	}
	return nil
}

// semver is what a version has to be: packages, charts and images put it in order by its parts.
var semver = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// identify finds the version, if none was given, and the time of the commit.
func (r *release) identify(ctx context.Context, work string) error {
	seconds, err := r.command(ctx, nil, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	if r.time, err = time.Parse(time.RFC3339, strings.TrimSpace(seconds)); err != nil {
		return err
	}
	r.time = r.time.UTC()
	if r.version == "" {
		// Of a commit without a tag, this is Go's pseudo-version.
		probe := filepath.Join(work, "probe")
		if err := r.compile(ctx, platform{os: runtime.GOOS, arch: runtime.GOARCH}, probe); err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(probe)
		if err != nil {
			return err
		}
		r.version = info.Main.Version
	}
	if !semver.MatchString(r.version) {
		return fmt.Errorf("%q is no version: name one such as v1.2.3, with make release VERSION=v1.2.3", r.version)
	}
	return nil
}

// build builds all binaries and checks what each says about itself.
func (r *release) build(ctx context.Context, work string) error {
	for _, p := range r.platforms {
		b := binary{p, filepath.Join(work, p.String(), p.program())}
		if err := r.compile(ctx, p, b.path); err != nil {
			return err
		}
		if err := r.check(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		r.binaries = append(r.binaries, b)
	}
	return nil
}

// compile builds the binary of a platform. Nothing of this machine is in it: no path, no build id, no C library.
func (r *release) compile(ctx context.Context, p platform, path string) error {
	flags := "-s -w -buildid= -X example.com/ferry/cmd/ferry/cli.release=" + r.version
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOARM=" + p.arm, "GOAMD64=v1", "GOFLAGS="}
	_, err := r.command(ctx, env, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags", flags, "-o", path, "./cmd/ferry")
	return err
}

// check runs the binary where this machine can, and otherwise looks for the version in it.
func (r *release) check(ctx context.Context, b binary) error {
	run := []string{b.path}
	switch native := b.os == runtime.GOOS && b.arch == runtime.GOARCH; {
	case !native && b.emulator == "", !native && !installed(b.emulator):
		data, err := os.ReadFile(b.path)
		if err == nil && !bytes.Contains(data, []byte(r.version)) {
			err = errors.New("the version is not in the binary")
		}
		return err
	case !native:
		run = []string{b.emulator, b.path}
	}
	got, err := r.command(ctx, nil, run[0], append(run[1:], "version")...)
	if err != nil {
		return err
	}
	if want := "ferry " + r.version + " "; !strings.HasPrefix(got, want) {
		return fmt.Errorf("ferry version prints %q, want %q", got, want)
	}
	return nil
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// command runs a program in the root of the module and returns its output.
func (r *release) command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, cmp.Or(strings.TrimSpace(stderr.String()), strings.TrimSpace(stdout.String())))
	}
	return stdout.String(), nil
}
