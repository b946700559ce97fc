package change

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program is a program that a link in its directory leads to, so that another one can take its place.
type program struct {
	t        *testing.T
	dir      string // working directory
	path     string // the link
	real     string // the program
	output   string // file with what all of its processes have printed
	pid      int    // of the process that serves
	endsWith syscall.Signal
}

// newProgram makes the link. The end of the test ends the process that serves then, and checks what all of them have printed.
func newProgram(t *testing.T, dir, name, path string) *program {
	t.Helper()
	p := &program{t: t, dir: dir, path: filepath.Join(dir, name), real: path, output: filepath.Join(dir, name+".log"), endsWith: syscall.SIGTERM}
	p.repair()
	t.Cleanup(func() {
		if p.pid != 0 {
			_ = syscall.Kill(p.pid, p.endsWith)
			p.awaitEnd(p.pid)
		}
		text, err := os.ReadFile(p.output)
		if err != nil {
			t.Error(err)
		}
		for _, fault := range []string{"DATA RACE", "panic: ", "fatal error: ", "deadline exceeded"} { // the last one: of drain.timeout
			if bytes.Contains(text, []byte(fault)) {
				t.Errorf("%s has printed %q", name, fault)
			}
		}
		if t.Failed() {
			t.Logf("%s has printed:\n%s", name, text[max(0, len(text)-100_000):])
		}
	})
	return p
}

// repair makes the link lead to the program.
func (p *program) repair() {
	p.t.Helper()
	_ = os.Remove(p.path)
	if err := os.Symlink(p.real, p.path); err != nil {
		p.t.Fatal(err)
	}
}

// replace puts a file in place of the link.
func (p *program) replace(text string) {
	p.t.Helper()
	_ = os.Remove(p.path)
	if err := os.WriteFile(p.path, []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
}

// start starts the first process.
func (p *program) start(args ...string) {
	p.t.Helper()
	cmd := p.command(args...)
	out, err := os.OpenFile(p.output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.pid = cmd.Process.Pid
	go func() { _ = cmd.Wait() }()
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), asFerry+"=1")
	return cmd
}

// signal sends a signal to the process that serves.
func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(p.pid, s); err != nil {
		p.t.Fatalf("process %d: %v", p.pid, err)
	}
}

// alive fails the test if the process that serves has ended.
func (p *program) alive() {
	p.t.Helper()
	if ended(p.pid) {
		p.t.Fatalf("process %d has ended", p.pid)
	}
}

// awaitEnd waits until a process has ended.
func (p *program) awaitEnd(pid int) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("process %d ends", pid), func() error {
		if !ended(pid) {
			return errors.New("it is still there")
		}
		return nil
	})
}

// ended reports whether a process has ended, although its parent may not know yet. proc_pid_stat(5).
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return true
	}
	_, state, found := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return found && strings.HasPrefix(state, "Z")
}
