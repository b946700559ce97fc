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

// socketVariable is the environment variable that holds the descriptor number of the worker's socket.
const socketVariable = "FERRY_WORKER_SOCKET"

// exitTime is how long a process may take to exit after it has closed its socket. It is long enough for a busy machine.
const exitTime = 2 * time.Second

// process is one running process of the program. Only the goroutine that has acquired it may read, write and use the
// buffers.
type process struct {
	pool      *Pool
	cfg       *Config
	cmd       *exec.Cmd
	conn      net.Conn
	frames    frameReader
	writeBuf  []byte // reused by each write
	tag       string // tag of the last response
	number    uint64 // number of the last request
	canceller canceller
	output    *outputTail

	exited chan struct{} // closed when the process has exited
	status string        // how the process ended; set before exited is closed

	mu     sync.Mutex
	reaped bool // the process id may already belong to another process
}

// launch starts the program and waits until it calls Serve. The error is a *DiedError.
func (p *Pool) launch() (*process, error) {
	c := &process{pool: p, cfg: &p.cfg, exited: make(chan struct{}), output: &outputTail{next: p.cfg.Stderr}}
	c.canceller.process = c
	c.cmd = exec.Command(p.cfg.Command[0], p.cfg.Command[1:]...)
	c.cmd.Dir = p.cfg.Dir
	c.cmd.Env = p.cfg.Env
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	c.cmd.WaitDelay = time.Second // limits waiting for processes that the program left behind with its output open
	var err error
	p.do(func() { c.conn, err = spawn(c.cmd) })
	if err != nil {
		return nil, &DiedError{Name: p.cfg.Name, Command: p.cfg.Command, Cause: err}
	}
	go c.reap()
	defer context.AfterFunc(p.ctx, c.kill)()
	err = c.handshake()
	if p.ctx.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		c.close()
		return nil, c.diagnose(err)
	}
	return c, nil
}

// do runs f on the thread that starts processes.
func (p *Pool) do(f func()) {
	ran := make(chan struct{})
	p.startCalls <- func() {
		defer close(ran)
		f()
	}
	<-ran
}

// handshake lowers the priority of the process and exchanges HELLOs.
func (c *process) handshake() error {
	if err := c.lowerPriority(); err != nil {
		return err
	}
	timer := time.AfterFunc(c.cfg.StartTimeout, c.kill)
	err := c.exchangeHellos()
	if !timer.Stop() {
		return &ProtocolError{Reason: fmt.Sprintf("no hello within %v", c.cfg.StartTimeout)}
	}
	if err != nil {
		return err
	}
	c.frames.max = maxFrame(c.cfg.MaxMessage)
	return c.lowerPriority() // again, because the first call may have missed a thread that was just being created
}

func (c *process) exchangeHellos() error {
	if _, err := c.conn.Write(helloFrame(c.cfg.MaxMessage)); err != nil {
		return err
	}
	c.frames = frameReader{r: c.conn, max: maxHello}
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

func (c *process) lowerPriority() error {
	if err := setPriority(c.cmd.Process.Pid, c.cfg); err != nil {
		return fmt.Errorf("worker: lower the priority of process %d: %w: Config.Nice -1 leaves it as it is", c.cmd.Process.Pid, err)
	}
	return nil
}

// reap waits until the process has ended.
func (c *process) reap() {
	if awaitExit(c.cmd.Process.Pid) {
		c.killLeftovers() // before Wait, because the id is not reused until then
	}
	err := c.cmd.Wait()
	c.killLeftovers()
	c.status = c.cmd.ProcessState.String()
	if c.cmd.ProcessState == nil {
		c.status = err.Error()
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Second)) // a child of the process may hold the socket open
	close(c.exited)
}

// killLeftovers kills the processes in the process group that outlived this process.
func (c *process) killLeftovers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		killGroup(c.cmd.Process.Pid)
		c.reaped = true
	}
}

// kill kills the process and its group.
func (c *process) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		killGroup(c.cmd.Process.Pid)
	}
}

// stop closes the stream of requests. It kills the process if it has not ended after Grace.
func (c *process) stop() {
	hangUp(c.conn)
	select {
	case <-c.exited:
	case <-time.After(c.cfg.Grace):
		c.kill()
		<-c.exited
	}
}

// diagnose kills the process if it has not ended, and returns how it ended. cause is the error of reading from the process.
func (c *process) diagnose(cause error) *DiedError {
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
		Status: c.status, Cause: cause, Stderr: c.output.String(),
	}
}

// isHangUp reports whether err only means that the other side has closed the connection.
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
