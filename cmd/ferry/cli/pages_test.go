package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// TestPages runs the commands of pages as they stand. Each section of a page has a directory and a shell of its own. In a block,
// a line that begins with "$ " is a command, and the lines behind it are its whole output, in which "..." stands for any text. A
// block whose first line is a comment with the name of a file is that file.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		"README.md", "examples/messages/README.md", "docs/cli.md", "docs/tutorials.md", "docs/from-nginx.md", "docs/from-mosquitto.md", "docs/from-yomo.md",
		"docs/from-go-micro.md", "docs/from-mosn.md", "docs/from-cpuworker.md", "docs/from-edgex.md",
	} {
		text, err := os.ReadFile(filepath.Join("../../..", page))
		if err != nil {
			t.Fatal(err)
		}
		commands := 0
		for _, section := range strings.Split("\n"+string(text), "\n## ") {
			title, _, _ := strings.Cut(strings.TrimSpace(section), "\n")
			steps := pageSteps(section)
			if !slices.ContainsFunc(steps, func(s pageStep) bool { return s.command != "" }) {
				continue
			}
			commands++
			t.Run(page+"/"+title, func(t *testing.T) {
				t.Parallel()
				runSteps(t, steps)
			})
		}
		if commands == 0 {
			t.Errorf("%s shows no command", page)
		}
	}
}

// pageStep is a file to write, or a command to run.
type pageStep struct {
	file, text    string
	command, want string
}

// background returns the command without & at its end, if it is one whose first output says that it is ready.
func (s pageStep) background() (string, bool) {
	command, ok := strings.CutSuffix(s.command, " &")
	return command, ok && !strings.Contains(command, " > ")
}

// pageSteps returns what the blocks of a section say.
func pageSteps(section string) (steps []pageStep) {
	fence := regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")
	file := regexp.MustCompile(`^# ([\w./-]+\.\w+)\n`)
	for _, block := range fence.FindAllStringSubmatch(section, -1) {
		if name := file.FindStringSubmatch(block[1]); name != nil {
			steps = append(steps, pageStep{file: name[1], text: block[1]})
			continue
		}
		if !strings.HasPrefix(block[1], "$ ") {
			continue
		}
		for line := range strings.Lines(block[1]) {
			last := len(steps) - 1
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, pageStep{command: strings.TrimSuffix(command, "\n")})
			} else if strings.HasSuffix(steps[last].command, `\`) {
				steps[last].command += "\n" + strings.TrimSuffix(line, "\n")
			} else {
				steps[last].want += line
			}
		}
	}
	return steps
}

// runSteps runs the commands of a section in one shell. A section that starts programs in the background has a network of its
// own, in which no port is taken, and its programs end with its shell.
func runSteps(t *testing.T, steps []pageStep) {
	c := newCheckout(t)
	word := regexp.MustCompile(`(?:^|\||&&|;|\() *(?:[A-Z]\w*=\S* +)*([\w/.-]+)`) // that a command begins with
	var readers, writers []*os.File
	for _, s := range steps {
		for _, name := range word.FindAllStringSubmatch(s.command, -1) {
			if !slices.Contains([]string{"cd", "ferry", "bin/ferry", "until", "do", "done", "wait"}, name[1]) {
				needs.Program(t, name[1])
			}
		}
		if _, ok := s.background(); ok {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = r.Close(), w.Close() }()
			readers, writers = append(readers, r), append(writers, w)
		}
	}
	deadline := time.Now().Add(5 * time.Minute)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	cmd := process(ctx, needs.Program(t, "sh"))
	if len(writers) > 0 {
		needs.NetNS(t)
		cmd = process(ctx, needs.Program(t, "unshare"), "--net", "--pid", "--fork", "--kill-child", "sh", "-c", "ip link set lo up && exec sh")
	}
	cmd.Dir, cmd.ExtraFiles, cmd.WaitDelay = c.dir, writers, time.Second
	cmd.Env = append(cmd.Env, "PATH="+c.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	var log bytes.Buffer
	cmd.Stderr = &log
	shell, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(stdout)
	defer func() {
		cancel()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("standard error of programs in the background:\n%s", log.String())
		}
	}()

	// run returns what a command prints, and its status. Byte 1 ends both.
	run := func(command string) (string, string) {
		_, _ = fmt.Fprintf(shell, "%s\nprintf '\\001%%d\\001' $?\n", command) // if the shell has ended, so has its output
		out, err := output.ReadString(1)
		status, err2 := output.ReadString(1)
		if err != nil || err2 != nil {
			t.Fatalf("%s: the shell has ended, or took until %v: %q", command, deadline, out)
		}
		return strings.TrimSuffix(out, "\x01"), strings.TrimSuffix(status, "\x01")
	}
	for _, s := range steps {
		if s.file != "" {
			if err := os.WriteFile(filepath.Join(c.dir, s.file), []byte(s.text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if command, ok := s.background(); ok {
			r := readers[0]
			run(fmt.Sprintf("%s >&%d &", command, 3+len(writers)-len(readers)))
			readers = readers[1:]
			_ = r.SetReadDeadline(deadline)
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatalf("%s: printed nothing: %v", s.command, err)
			}
			go func() { _, _ = io.Copy(io.Discard, r) }()
			continue
		}
		want := "^" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(s.want, "\n")), `\.\.\.`, "(?s:.*)") + "\n*$"
		if out, status := run("{ " + s.command + "\n} 2>&1 </dev/null"); status != "0" || !regexp.MustCompile(want).MatchString(out) {
			t.Fatalf("%s: got status %s and\n%s\nwant\n%s", s.command, status, out, s.want)
		}
	}
}
