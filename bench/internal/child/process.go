package child

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Process is a started process. Do not call its methods concurrently.
type Process struct {
	Name string

	cmd     *exec.Cmd
	stdin   io.Closer
	out     *json.Encoder
	in      *json.Decoder
	stderr  bytes.Buffer
	foreign bool // another program, which does not end when its standard input ends
}

// Role starts this program again in a role, and waits until its first report says that it is ready. env has further variables of
// its environment.
func Role(name, variable string, spec any, ready any, timeout time.Duration, env ...string) (*Process, error) {
	return role(nil, name, variable, spec, ready, timeout, env)
}

// RoleIn is Role in a network namespace, if ns is not empty.
func RoleIn(ns, name, variable string, spec any, ready any, timeout time.Duration, env ...string) (*Process, error) {
	return role(inNamespace(ns), name, variable, spec, ready, timeout, env)
}

func role(prefix []string, name, variable string, spec, ready any, timeout time.Duration, env []string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Under the race detector, a race ends the process with a failure at once.
	env = append([]string{variable + "=" + string(text), "GORACE=halt_on_error=1 atexit_sleep_ms=0"}, env...)
	p := &Process{Name: name}
	if err := p.start(append(prefix, self), env); err != nil {
		return nil, err
	}
	return p, p.hear(ready, timeout)
}

// Program starts another program, in a network namespace if ns is not empty. End kills it.
func Program(ns, name string, argv ...string) (*Process, error) {
	p := &Process{Name: name, foreign: true}
	return p, p.start(append(inNamespace(ns), argv...), nil)
}

func inNamespace(ns string) []string {
	if ns == "" {
		return nil
	}
	return []string{"ip", "netns", "exec", ns}
}

func (p *Process) start(argv, env []string) error {
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	p.stdin, p.out, p.in = stdin, json.NewEncoder(stdin), json.NewDecoder(stdout)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// PID returns the process's number; 0 if it did not start.
func (p *Process) PID() int {
	if p.cmd.Process == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Ask sends an order, and reads the report on it, which must come within timeout. A report whose member Err is not empty is an error.
func (p *Process) Ask(order, report any, timeout time.Duration) error {
	if err := p.out.Encode(order); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return p.hear(report, timeout)
}

// hear reads a report. On an error of the process, rather than of the order, it ends the process.
func (p *Process) hear(report any, timeout time.Duration) error {
	var line json.RawMessage
	late := time.AfterFunc(timeout, func() { _ = p.cmd.Process.Kill() })
	err := p.in.Decode(&line)
	if !late.Stop() {
		return fmt.Errorf("%s: no report within %v", p.Name, timeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.Name, err, p.End())
	}
	var outcome struct{ Err string }
	if err := json.Unmarshal(line, &outcome); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if outcome.Err != "" {
		return fmt.Errorf("%s: %w", p.Name, errors.New(outcome.Err))
	}
	if err := json.Unmarshal(line, report); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Kill kills the process at once, as kill -9 does, and waits until it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// End ends a role, or kills another program, and returns what it has printed on standard error. A role that does not end within a
// second is killed. Further calls have no effect.
func (p *Process) End() string {
	if p == nil || p.PID() == 0 {
		return ""
	}
	_ = p.stdin.Close()
	if p.foreign {
		_ = p.cmd.Process.Kill()
	}
	late := time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait() // its exit status is not used
	late.Stop()
	defer p.stderr.Reset()
	return strings.TrimSpace(p.stderr.String())
}
