package atree

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Version is the version of the crate: that of program/Cargo.toml.
const Version = "0.5.0"

//go:embed program
var program embed.FS

// Input is the rules and events of one run.
type Input struct {
	Texts, Integers []string // names of the fields
	Rules           []string
	Events          []Event
}

// Event is the values of the fields, in the order of Input.
type Event struct {
	Texts    []string
	Integers []int64
}

// home returns the directory of the built program.
func home() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ferry-bench", "a-tree-"+Version), err
}

func binary(dir string) string { return filepath.Join(dir, "target", "release", "ferry-bench-atree") }

// Installed reports whether the program is built.
func Installed() bool {
	dir, err := home()
	if err != nil {
		return false
	}
	_, err = os.Stat(binary(dir))
	return err == nil
}

// Install builds the program, unless it is built.
func Install() error {
	if Installed() {
		return nil
	}
	if _, err := exec.LookPath("cargo"); err != nil {
		return fmt.Errorf("atree: install Rust, or go without A-Tree: %w", err)
	}
	dir, err := home()
	if err != nil {
		return fmt.Errorf("atree: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("atree: %w", err)
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "half-")
	if err != nil {
		return fmt.Errorf("atree: %w", err)
	}
	defer func() { _ = os.RemoveAll(half) }()
	for _, name := range []string{"Cargo.toml", "src/main.rs"} {
		text, err := program.ReadFile("program/" + name)
		if err != nil {
			return fmt.Errorf("atree: %w", err)
		}
		file := filepath.Join(half, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("atree: %w", err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return fmt.Errorf("atree: %w", err)
		}
	}
	cmd := exec.Command("cargo", "build", "--release", "--quiet")
	cmd.Dir = half
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("atree: %v: %w: %s", cmd.Args, err, out)
	}
	return os.Rename(half, dir)
}

// Run searches the rules for each event, and again for about budget. It returns the nanoseconds of one search, and the numbers of the
// rules that hold for each event.
func Run(in Input, budget time.Duration) (ns float64, found [][]int, err error) {
	dir, err := home()
	if err != nil {
		return 0, nil, fmt.Errorf("atree: %w", err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n%s\n", strings.Join(in.Texts, "\t"), strings.Join(in.Integers, "\t"))
	for _, r := range in.Rules {
		fmt.Fprintf(&text, "R\t%s\n", r)
	}
	for _, e := range in.Events {
		text.WriteString("E\t" + strings.Join(e.Texts, "\t"))
		for _, n := range e.Integers {
			fmt.Fprintf(&text, "\t%d", n)
		}
		text.WriteByte('\n')
	}
	cmd := exec.Command(binary(dir), strconv.FormatInt(budget.Nanoseconds(), 10))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = &text, &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("atree: %w: %.500s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 1+len(in.Events) {
		return 0, nil, fmt.Errorf("atree: %d lines for %d events", len(lines), len(in.Events))
	}
	if ns, err = strconv.ParseFloat(lines[0], 64); err != nil {
		return 0, nil, fmt.Errorf("atree: %w", err)
	}
	for _, line := range lines[1:] {
		var ids []int
		for _, word := range strings.Fields(line) {
			id, err := strconv.Atoi(word)
			if err != nil {
				return 0, nil, fmt.Errorf("atree: %w", err)
			}
			ids = append(ids, id)
		}
		found = append(found, ids)
	}
	return ns, found, nil
}
