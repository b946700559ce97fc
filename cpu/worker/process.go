package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"
)

// socketVariable tells the program which file descriptor its socket is.
const socketVariable = "FERRY_WORKER_SOCKET"

// exitTime is how long a process that has closed its socket may take to exit by itself, on a busy machine.
const exitTime = 2 * time.Second

// process is one run of the program. Whoever has acquired it reads, writes and uses its buffers alone.
type process struct {
	pool   *Pool
	cfg    *Config
	cmd    *exec.Cmd
	conn   net.Conn
	frames reader
	out    []byte // for what is written next
	tag    string // of the last answer
	number uint64 // of the last request
	watch  watch
	said   *tail

	exited chan struct{} // closed when the process is gone
	status string        // how it went, once exited is closed

	mu     sync.Mutex
	buried bool // its id may belong to somebody else by now
}

// launch starts the program and waits until it calls Serve. The error is a *DiedError.
func (p *Pool) launch() (*process, error) {
	c := &process{pool: p, cfg: &p.cfg, exited: make(chan struct{}), said: &tail{next: p.cfg.Stderr}}
	c.watch.process = c
	c.cmd = exec.Command(p.cfg.Command[0], p.cfg.Command[1:]...)
	c.cmd.Dir = p.cfg.Dir
	c.cmd.Env = p.cfg.Env
	c.cmd.Stdout, c.cmd.Stderr = c.said, c.said
	c.cmd.WaitDelay = time.Second // for what the program started and left behind with its output open
	var err error
	p.do(func() { c.conn, err = spawn(c.cmd) })
	if err != nil {
		return nil, &DiedError{Name: p.cfg.Name, Command: p.cfg.Command, Cause: err}
	}
	go c.reap()
	defer context.AfterFunc(p.ctx, c.kill)()
	err = c.greet()
	if p.ctx.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		c.close()
		return nil, c.autopsy(err)
	}
	return c, nil
}

// do runs f on the thread that starts processes.
func (p *Pool) do(f func()) {
	ran := make(chan struct{})
	p.starter <- func() {
		defer close(ran)
		f()
	}
	<-ran
}

// greet lowers the process's priority and exchanges hellos.
func (c *process) greet() error {
	if err := c.lower(); err != nil {
		return err
	}
	timer := time.AfterFunc(c.cfg.StartTimeout, c.kill)
	err := c.hellos()
	if !timer.Stop() {
		return &ProtocolError{Reason: fmt.Sprintf("no hello within %v", c.cfg.StartTimeout)}
	}
	if err != nil {
		return err
	}
	c.frames.max = maxFrame(c.cfg.MaxMessage)
	return c.lower() // a thread that was being started the first time may have been missed
}

func (c *process) hellos() error {
	if _, err := c.conn.Write(helloFrame(c.cfg.MaxMessage)); err != nil {
		return err
	}
	c.frames = reader{r: c.conn, max: maxHello}
	k, body, err := c.frames.next()
	if err != nil {
		return err
	}
	if k != hello {
		return &ProtocolError{Reason: fmt.Sprintf("the first frame is of kind %d, want a hello (%d)", k, hello)}
	}
	_, err = parseHello(body)
	return err
}

func (c *process) lower() error {
	if err := lower(c.cmd.Process.Pid, c.cfg); err != nil {
		return fmt.Errorf("worker: lower the priority of process %d: %w: Config.Nice -1 leaves it as it is", c.cmd.Process.Pid, err)
	}
	return nil
}

// reap waits for the end of the process.
func (c *process) reap() {
	if awaitExit(c.cmd.Process.Pid) {
		c.bury() // while its id is still its own
	}
	err := c.cmd.Wait()
	c.bury()
	c.status = c.cmd.ProcessState.String()
	if c.cmd.ProcessState == nil {
		c.status = err.Error()
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Second)) // what it started may hold the socket open
	close(c.exited)
}

// bury ends what the process started and left behind in its group.
func (c *process) bury() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.buried {
		killGroup(c.cmd.Process.Pid)
		c.buried = true
	}
}

// kill ends the process and what it started, at once.
func (c *process) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.buried {
		killGroup(c.cmd.Process.Pid)
	}
}

// dismiss tells the process that no more requests come, and kills it if it has not ended after Grace.
func (c *process) dismiss() {
	hangUp(c.conn)
	select {
	case <-c.exited:
	case <-time.After(c.cfg.Grace):
		c.kill()
		<-c.exited
	}
}

// autopsy ends the process if it has not ended yet, and tells how it did. cause is what reading from it has led to.
func (c *process) autopsy(cause error) *DiedError {
	if isHangUp(cause) {
		cause = nil
		select {
		case <-c.exited:
		case <-time.After(exitTime):
			cause = &ProtocolError{Reason: "it closed its socket and did not exit"}
		}
	}
	c.kill()
	<-c.exited
	return &DiedError{
		Name: c.cfg.Name, Command: c.cfg.Command, PID: c.cmd.Process.Pid,
		Status: c.status, Cause: cause, Stderr: c.said.String(),
	}
}

// isHangUp reports whether err says that the other side is gone, rather than what it did wrong.
func isHangUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err)
}

func (c *process) ended() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

func (c *process) close() { _ = c.conn.Close() }
