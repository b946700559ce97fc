package pubsub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is the source, the function or the node.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	out    *json.Encoder
	in     *json.Decoder
	stderr bytes.Buffer

	foreign bool // another program, which does not end when its standard input ends
}

// spawn starts a program in a network namespace, if one is named.
func (p *process) spawn(ns string, argv, env []string) (err error) {
	if ns != "" {
		argv = append([]string{"ip", "netns", "exec", ns}, argv...)
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.stdin, p.out, p.in = stdin, json.NewEncoder(stdin), json.NewDecoder(stdout)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("pubsub: %s: %w", p.name, err)
	}
	return nil
}

// startEnd starts this program again in the role of s, and waits until it is ready.
func startEnd(ns string, s spec) (*process, reply, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, reply{}, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, reply{}, err
	}
	env := []string{
		specVariable + "=" + string(text),
		"GORACE=halt_on_error=1 atexit_sleep_ms=0", // under the race detector: a race ends the process with a failure at once
	}
	p := &process{name: s.Role}
	if err := p.spawn(ns, []string{self}, env); err != nil {
		return nil, reply{}, err
	}
	first, err := p.hear(2 * patience)
	return p, first, err
}

// ask sends a request and returns the reply, which must come within timeout.
func (p *process) ask(q request, timeout time.Duration) (reply, error) {
	if err := p.out.Encode(q); err != nil {
		return reply{}, fmt.Errorf("pubsub: %s: %w", p.name, err)
	}
	return p.hear(timeout)
}

func (p *process) hear(timeout time.Duration) (r reply, err error) {
	late := time.AfterFunc(timeout, func() { _ = p.cmd.Process.Kill() })
	err = p.in.Decode(&r)
	if !late.Stop() {
		return r, fmt.Errorf("pubsub: %s: no response within %v", p.name, timeout)
	}
	if err == nil && r.Err != "" {
		err = errors.New(r.Err)
	}
	if err != nil {
		return r, fmt.Errorf("pubsub: %s: %w", p.name, err)
	}
	return r, nil
}

// end waits a second for the process to end by itself, and then kills it. It returns the output of the process.
func (p *process) end() string {
	_ = p.stdin.Close()
	if p.foreign {
		_ = p.cmd.Process.Kill()
	}
	late := time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait() // its exit status is not used
	late.Stop()
	return p.stderr.String()
}

// cpu returns the CPU time of all threads so far, or 0 on a system without /proc.
func (p *process) cpu() (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		running, _, _ := strings.Cut(string(stat), " ")
		ns, _ := strconv.ParseInt(running, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}
