package pinned

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a program that was started. Its methods may overlap.
type Process struct {
	cmd   *exec.Cmd
	out   tail
	ended chan struct{} // closed when the process has ended
	err   error         // exit error; valid after ended is closed
}

const (
	patience = 5 * time.Second      // how long a process may take to end by itself
	pause    = 5 * time.Millisecond // interval between two checks of a process
)

// Start starts argv in dir, pinned to cores; to all cores if there are none. An empty dir is the directory of this process.
// The program is killed when this process ends, if Stop does not end it earlier.
func Start(cores []int, dir string, argv ...string) (*Process, error) {
	if len(argv) == 0 {
		return nil, errors.New("pinned: no program to start")
	}
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p.cmd.WaitDelay = patience // a child that keeps the output open does not block Wait
	if err := spawn(p.cmd, cores); err != nil {
		return nil, fmt.Errorf("pinned: start %s: %w", argv[0], err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output returns the last 64 KiB of the process's standard output and standard error.
func (p *Process) Output() string { return p.out.String() }

// Wait waits until the process has ended. It returns an error with the last line of output if the exit status is not 0, or
// if timeout is over: then it stops the process.
func (p *Process) Wait(timeout time.Duration) error {
	select {
	case <-p.ended:
	case <-time.After(timeout):
		p.Stop()
		return fmt.Errorf("pinned: %s has not ended within %v: %s", p.name(), timeout, p.lastWords())
	}
	if p.err != nil {
		return fmt.Errorf("pinned: %s: %w: %s", p.name(), p.err, p.lastWords())
	}
	return nil
}

// WaitLine waits for the first line of output, and returns an error if that takes too long or the process ends before.
func (p *Process) WaitLine(timeout time.Duration) (string, error) {
	for deadline := time.Now().Add(timeout); ; {
		ended := p.hasEnded()
		if line, _, ok := strings.Cut(p.Output(), "\n"); ok {
			return line, nil
		}
		if ended {
			return "", fmt.Errorf("pinned: %s has ended (%w) with no line but %q", p.name(), p.err, p.Output())
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("pinned: %s has written no line after %v but %q", p.name(), timeout, p.Output())
		}
		time.Sleep(pause)
	}
}

// WaitListening waits until a TCP address accepts connections, and returns an error if that takes too long or the process
// ends before. Call Free before Start, so that no other program listens there.
func (p *Process) WaitListening(addr string, timeout time.Duration) error {
	for deadline := time.Now().Add(timeout); ; {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		if p.hasEnded() {
			return fmt.Errorf("pinned: %s has ended (%w) before it listened on %s: %s", p.name(), p.err, addr, p.lastWords())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("pinned: %s does not listen on %s after %v: %s", p.name(), addr, timeout, p.lastWords())
		}
		time.Sleep(pause)
	}
}

func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Free returns an error if a TCP address cannot be listened on.
func Free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("pinned: %s is needed: stop what listens there: %w", addr, err)
	}
	return l.Close()
}

// Stop asks the process and those it started to end, by SIGTERM, and kills them after five seconds. It returns when the
// process has ended. It does nothing if the process had already ended.
func (p *Process) Stop() {
	if p.hasEnded() {
		return
	}
	_ = p.signal(syscall.SIGTERM) // fails if it has ended meanwhile
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// signal sends to the process's own process group.
func (p *Process) signal(s syscall.Signal) error { return syscall.Kill(-p.PID(), s) }

func (p *Process) name() string { return p.cmd.Args[0] }

func (p *Process) lastWords() string { return strings.TrimSpace(p.Output()) }
