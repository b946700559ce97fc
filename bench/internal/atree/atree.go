package atree

import (
	"bytes"
	"embed"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/bench/internal/crate"
)

// Version is the version of the crate: that of program/Cargo.toml.
const Version = "0.5.0"

//go:embed program
var source embed.FS

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

// Program is the built program.
var Program = crate.Program{Name: "a-tree-" + Version, Binary: "ferry-bench-atree", Source: source}

// Run searches the rules for each event, and again for about budget. It returns the nanoseconds of one search, and the numbers of the
// rules that hold for each event.
func Run(in Input, budget time.Duration) (ns float64, found [][]int, err error) {
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
	cmd := exec.Command(Program.Path(), strconv.FormatInt(budget.Nanoseconds(), 10))
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
