package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"

	"example.com/ferry/protocol/native/conformance"
)

type conformanceClientCmd struct {
	caseFlags
	Command []string `arg:"" passthrough:"" help:"The driver program and its arguments, behind --."`
}

// Help returns the part of ferry conformance client --help that is not in the grammar.
func (*conformanceClientCmd) Help() string {
	return `The driver is a small program around the client under test, in any language. ferry starts it once for each case, and plays the node. The driver reads instructions such as {"id":1,"do":"connect","addr":"tcp://127.0.0.1:4711"} on standard input, one line of JSON each, and writes a line of JSON for each on standard output. docs/conformance.md lists the instructions and the cases. A feature that the client does not have is skipped.

Exit status: 0 no case has failed, 1 a case has failed.

Examples:

    ferry conformance client -- python3 driver.py
    ferry conformance client --run '^(handshake|publish)/' -- ./driver
    ferry conformance client -- ferry conformance driver     Go's own client`
}

// Run runs the cases.
func (c *conformanceClientCmd) Run(e *env) error {
	command := c.Command
	if _, err := exec.LookPath(command[0]); err != nil {
		return usagef("the driver: %w", err)
	}
	return c.play(e, func(ctx context.Context, o conformance.Options) []conformance.Result {
		return conformance.Client(ctx, conformance.ClientConfig{
			Options: o,
			Start:   func(context.Context) (conformance.Driver, error) { return startDriver(command) },
			Listen: func(context.Context) (conformance.Listener, error) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				return tcpListener{l}, err
			},
		})
	})
}

// tcpListener accepts the connections of the client under test.
type tcpListener struct{ net.Listener }

func (l tcpListener) Accept() (io.ReadWriteCloser, error) { return l.Listener.Accept() }
func (l tcpListener) Addr() string                        { return "tcp://" + l.Listener.Addr().String() }

// driverWaitDelay bounds how long the standard error of a driver that has ended is read, in case a program that it has started keeps it open.
const driverWaitDelay = time.Second

// driverProcess is a running driver.
type driverProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr tail
}

var _ conformance.Driver = (*driverProcess)(nil)

func startDriver(command []string) (*driverProcess, error) {
	p := &driverProcess{cmd: exec.Command(command[0], command[1:]...)} //nolint:gosec // the user's command line
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = driverWaitDelay
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

func (p *driverProcess) Read(b []byte) (int, error)  { return p.stdout.Read(b) }
func (p *driverProcess) Write(b []byte) (int, error) { return p.stdin.Write(b) }
func (p *driverProcess) CloseWrite() error           { return p.stdin.Close() }

// Kill ends the driver. Programs that it has started may keep its output open: nothing more is read of it.
func (p *driverProcess) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.stdout.Close()
}

// Wait waits until the driver has ended.
func (p *driverProcess) Wait() error {
	err := p.cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // a program that the driver has started still runs
	}
	return err
}

// Log returns the end of the driver's standard error.
func (p *driverProcess) Log() string { return p.stderr.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is the length of a tail, in bytes.
const maxTail = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
