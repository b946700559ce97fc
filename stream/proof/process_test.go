//go:build linux

package proof

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// timeout bounds each step. It is long because the machine may run many tests at once.
const timeout = 2 * time.Minute

// process is a process that can be killed and started again.
type process struct {
	t       *testing.T
	name    string
	program string
	args    []string
	env     []string
	dir     string

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{} // closed when cmd has ended
	killed bool          // cmd was told to end
	output *tail
}

// newRole returns a process of the test binary with a role.
func newRole(t *testing.T, name, roleName string, config any) *process {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, name, os.Args[0])
	p.env = append(p.env, role+"="+roleName, settings+"="+string(text))
	return p
}

// newProcess returns a process that was not started. It is killed when the test ends.
func newProcess(t *testing.T, name, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, program: program, args: args, dir: t.TempDir(), env: os.Environ(), output: &tail{}}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("last lines of %s:\n%s", name, p.output)
		}
	})
	return p
}

// start starts the process.
func (p *process) start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command(p.program, p.args...)
	cmd.Env, cmd.Dir = p.env, p.dir
	cmd.Stdout, cmd.Stderr = p.output, p.output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatalf("starting %s: %v", p.name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.ended, p.killed = cmd, ended, false
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.killed {
			p.t.Errorf("%s ended by itself: %v\n%s", p.name, err, p.output)
		}
		close(ended)
	}()
}

// kill ends the process as kill -9 does, and waits until it is gone.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop asks the process to end, and waits until it has.
func (p *process) stop() { p.end(syscall.SIGTERM) }

func (p *process) end(signal syscall.Signal) {
	p.t.Helper()
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.killed = true
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("ending %s: %v", p.name, err)
	}
	select {
	case <-ended:
	case <-time.After(timeout):
		p.t.Errorf("%s does not end within %v", p.name, timeout)
		_ = cmd.Process.Kill()
		<-ended
	}
}

// gone reports whether the process has ended.
func (p *process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// pid returns the process id.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// tail keeps the last lines that a process has written.
type tail struct {
	mu    sync.Mutex
	lines []string
	rest  string
}

// maxTail is the number of lines that a tail keeps.
const maxTail = 60

func (o *tail) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := strings.Split(o.rest+string(p), "\n")
	o.rest = lines[len(lines)-1]
	o.lines = append(o.lines, lines[:len(lines)-1]...)
	if excess := len(o.lines) - maxTail; excess > 0 {
		o.lines = slices.Delete(o.lines, 0, excess)
	}
	return len(p), nil
}

func (o *tail) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.lines, "\n") + o.rest
}

// contains reports whether one of the last lines has text.
func (o *tail) contains(text string) bool { return strings.Contains(o.String(), text) }

// await calls ok until it returns true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, timeout)
		}
	}
}
