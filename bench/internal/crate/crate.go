package crate

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is a program that cargo builds.
type Program struct {
	Name   string   // name of its directory in the cache; contains the version
	Binary string   // name of the package in Cargo.toml
	Source embed.FS // has program/Cargo.toml and program/src/main.rs
}

// Path returns the path of the built program, or "" if it is not built.
func (p Program) Path() string {
	dir, err := p.home()
	if err != nil {
		return ""
	}
	path := filepath.Join(dir, "target", "release", p.Binary)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Install builds the program, unless it is built. That takes some minutes.
func (p Program) Install() error {
	if p.Path() != "" {
		return nil
	}
	if _, err := exec.LookPath("cargo"); err != nil {
		return fmt.Errorf("crate: install Rust, or go without %s: %w", p.Name, err)
	}
	dir, err := p.home()
	if err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "half-")
	if err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	defer func() { _ = os.RemoveAll(half) }()
	for _, name := range []string{"Cargo.toml", "src/main.rs"} {
		text, err := p.Source.ReadFile("program/" + name)
		if err != nil {
			return fmt.Errorf("crate: %w", err)
		}
		file := filepath.Join(half, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("crate: %w", err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return fmt.Errorf("crate: %w", err)
		}
	}
	cmd := exec.Command("cargo", "build", "--release", "--quiet")
	cmd.Dir = half
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("crate: %v: %w: %s", cmd.Args, err, out)
	}
	return p.keep(half, dir)
}

// keep moves the program of the finished build half into dir. What else cargo writes takes hundreds of megabytes.
func (p Program) keep(half, dir string) error {
	built := filepath.Join(half, "target", "release", p.Binary)
	kept := filepath.Join(half, "kept")
	if err := os.MkdirAll(filepath.Join(kept, "target", "release"), 0o755); err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	if err := os.Rename(built, filepath.Join(kept, "target", "release", p.Binary)); err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	if err := os.Rename(kept, dir); err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	return nil
}

// home returns the directory of the built program.
func (p Program) home() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ferry-bench", p.Name), err
}
