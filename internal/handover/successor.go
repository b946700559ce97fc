package handover

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// variable has the number of the first inherited descriptor: the connection to the predecessor, before the sockets.
const variable = "FERRY_HANDOVER"

// firstFile is the number of the first of exec.Cmd.ExtraFiles in the next process.
const firstFile = 3

// greeting is what a process tells its successor first.
type greeting struct {
	Sockets []passed                   // in the order of the descriptors
	States  map[string]json.RawMessage `json:",omitempty"` // Set.HandOver
}

// passed is a group of sockets.
type passed struct {
	name
	Count   int  // descriptors
	Foreign bool `json:",omitempty"` // systemd has made it
}

// report is what the successor says. The zero report says that it has ended.
type report struct {
	Wants bool   // what only one process may have
	Ready bool   // it serves
	Err   string // it does not start
}

// Successor is the process that takes over.
type Successor struct {
	cmd     *exec.Cmd
	conn    *os.File
	reports chan report   // closed when the process has ended, or says nothing more
	ended   chan struct{} // closed when the process has ended
	state   error
}

// Command is the command line of a successor.
type Command struct {
	Path string
	Args []string // with the program's name
	Env  []string
}

// Start starts the next process with all sockets of s. Its standard files are those of this process.
func (s *Set) Start(c Command) (*Successor, error) {
	near, far, err := pair()
	if err != nil {
		return nil, fmt.Errorf("handover: %w", err)
	}
	defer func() { _ = far.Close() }()
	hello, files, err := s.passed()
	if err == nil {
		hello.States, err = s.handedOver()
	}
	if err == nil {
		defer closeFiles(files)
		cmd := &exec.Cmd{
			Path: c.Path, Args: c.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			Env:        append(slices.Clone(c.Env), variable+"="+strconv.Itoa(firstFile)),
			ExtraFiles: append([]*os.File{far}, files...),
		}
		if err = cmd.Start(); err == nil {
			return begin(cmd, near, hello), nil
		}
	}
	_ = near.Close()
	return nil, fmt.Errorf("handover: %w", err)
}

func begin(cmd *exec.Cmd, conn *os.File, hello greeting) *Successor {
	next := &Successor{cmd: cmd, conn: conn, reports: make(chan report, 4), ended: make(chan struct{})}
	go func() {
		next.state = cmd.Wait()
		close(next.ended)
	}()
	go func() {
		defer close(next.reports)
		for dec := json.NewDecoder(conn); ; {
			var r report
			if dec.Decode(&r) != nil {
				return
			}
			next.reports <- r
		}
	}()
	go func() {
		_ = json.NewEncoder(conn).Encode(hello) // a process that has died does not report
	}()
	return next
}

// handedOver returns what HandOver has announced.
func (s *Set) handedOver() (map[string]json.RawMessage, error) {
	s.mu.Lock()
	states := maps.Clone(s.states)
	s.mu.Unlock()
	all := map[string]json.RawMessage{}
	for name, state := range states {
		encoded, err := json.Marshal(state())
		if err != nil {
			return nil, fmt.Errorf("the state of %s: %w", name, err)
		}
		all[name] = encoded
	}
	return all, nil
}

// passed returns duplicates of all sockets, and what the next process has to know of them.
func (s *Set) passed() (hello greeting, files []*os.File, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range slices.SortedFunc(slices.Values(slices.Concat(s.used, s.free)), byNumber) {
		more, err := duplicates(g.files)
		if err != nil {
			closeFiles(files)
			return hello, nil, fmt.Errorf("the socket of %s: %w", g.Address, err)
		}
		files = append(files, more...)
		hello.Sockets = append(hello.Sockets, passed{g.name, len(more), g.foreign})
	}
	return hello, files, nil
}

// ErrEnded means that the successor has ended.
var ErrEnded = errors.New("it has ended")

// Await waits for what the successor says next: that it wants what only one process may have, or that it serves. An error is the
// reason for which it does not start.
func (n *Successor) Await(ctx context.Context) (ready bool, err error) {
	select {
	case r, ok := <-n.reports:
		switch {
		case !ok:
			<-n.endedSoon()
			return false, fmt.Errorf("handover: the new process %d: %w: %w", n.PID(), ErrEnded, cmpState(n.state))
		case r.Err != "":
			return false, fmt.Errorf("handover: the new process %d: %s", n.PID(), r.Err)
		}
		return r.Ready, nil
	case <-ctx.Done():
		return false, fmt.Errorf("handover: the new process %d is not ready: %w", n.PID(), ctx.Err())
	}
}

func cmpState(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// endedSoon returns a channel that is closed when the process has ended, or after a second.
func (n *Successor) endedSoon() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-n.ended:
		case <-time.After(time.Second):
		}
	}()
	return done
}

// Give tells the successor that it may open what it wanted.
func (n *Successor) Give() error {
	_, err := io.WriteString(n.conn, "{}\n")
	return err
}

// PID returns the successor's process ID.
func (n *Successor) PID() int { return n.cmd.Process.Pid }

// Release leaves the successor alone: it serves.
func (n *Successor) Release() { _ = n.conn.Close() }

// Kill ends the successor and waits for its end.
func (n *Successor) Kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
	_ = n.conn.Close()
}

// Predecessor is the process that this one replaces.
type Predecessor struct {
	conn *os.File
	in   *bufio.Reader
}

// ErrGone means that the predecessor has ended before its successor served. It has nothing any more that only one process may have, and
// its sockets stay with the successor, which may go on. A predecessor that does not want its successor ends it first.
var ErrGone = errors.New("handover: the process that is replaced has ended")

// Want asks for what only one process may have, and returns when the predecessor has given it up. It returns ErrGone if that has ended.
func (p *Predecessor) Want() error {
	if p == nil {
		return nil
	}
	if err := p.report(report{Wants: true}); err != nil {
		return err
	}
	if _, err := p.in.ReadString('\n'); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

// Ready tells the predecessor that this process serves. It has the sockets then. It returns ErrGone if the predecessor has ended.
func (p *Predecessor) Ready() error {
	if p == nil {
		return nil
	}
	defer func() { _ = p.conn.Close() }()
	return p.report(report{Ready: true})
}

func (p *Predecessor) report(r report) error {
	if err := json.NewEncoder(p.conn).Encode(r); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

// Fail tells the predecessor why this process does not start.
func (p *Predecessor) Fail(err error) {
	if p == nil {
		return
	}
	_ = json.NewEncoder(p.conn).Encode(report{Err: err.Error()})
	_ = p.conn.Close()
}
