package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
)

// lifelineVariable is the environment variable with the address of a listener. A process dials that address. When the
// connection ends, the process has ended.
const lifelineVariable = "FERRY_TEST_LIFELINE"

// beParent runs a pool until this process is killed. The pool's process handles a message that never ends.
func beParent() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := Start(Config{Command: []string{exe}, Env: append(os.Environ(), roleVariable+"="+os.Getenv(childVariable))})
	if err != nil {
		return err
	}
	return p.Handle(context.Background(), &ferry.Message{Tag: "orphan"}, hook(func(ferry.Message) error { return nil }))
}

const childVariable = "FERRY_TEST_CHILD"

// dialLifeline dials the lifeline, sends its process id, and keeps the connection open until the process ends.
func dialLifeline(kind string) error {
	conn, err := net.Dial("tcp", os.Getenv(lifelineVariable))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(conn, kind)
	held = append(held, conn)
	return err
}

// beDeaf does the handshake and then reads nothing.
func beDeaf() error {
	conn, err := parentSocket()
	if err != nil {
		return err
	}
	if _, err := conn.Write(helloFrame(1)); err != nil {
		return err
	}
	if err := dialLifeline("deaf"); err != nil {
		return err
	}
	time.Sleep(time.Hour)
	return conn.Close()
}

var held []net.Conn // so that no finalizer closes the connections

// TestParentDies: the parent is killed while its process is busy, and the process ends. A deaf process does not read the end
// of its socket. The kernel kills it on systems that support this.
func TestParentDies(t *testing.T) {
	children := []string{"serve"}
	if runtime.GOOS == "linux" {
		children = append(children, "deaf")
	}
	for _, child := range children {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			parent := exec.Command(os.Args[0])
			parent.Env = append(os.Environ(), roleVariable+"=parent", childVariable+"="+child, lifelineVariable+"="+l.Addr().String())
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			if line, err := r.ReadString('\n'); err != nil || strings.TrimSpace(line) != child {
				t.Fatalf("the process said %q, %v, want %s", line, err, child)
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait()
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ReadByte(); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
				t.Errorf("a minute after its parent the process still lives: %v", err)
			}
		})
	}
}

// TestOrphanExits: the kernel does not kill the process. The process exits when its socket has ended and the handler does not
// return.
func TestOrphanExits(t *testing.T) {
	near, far := net.Pipe()
	s := newServer(far)
	begun, orphaned, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.orphaned = func() { close(orphaned) }
	served := make(chan error, 1)
	go func() {
		served <- s.serve(t.Context(), ferry.HandlerFunc(func(context.Context, *ferry.Message, ferry.Sender) error {
			close(begun)
			<-over
			return nil
		}))
	}()
	greetServer(t, near)
	if _, err := near.Write(appendMessage(nil, &ferry.Message{Tag: "x"})); err != nil {
		t.Fatal(err)
	}
	within(t, "the call", begun)
	_ = near.Close()
	within(t, "the orphan's end", orphaned)
	close(over)
	if err := within(t, "the server's end", served); err != nil {
		t.Errorf("Serve = %v, want nil: the parent hung up", err)
	}
}

// within returns what c delivers, in less than a minute.
func within[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not come within a minute", what)
	}
	return v
}

// greetServer does the parent's part of the handshake.
func greetServer(t *testing.T, conn net.Conn) *frameReader {
	t.Helper()
	r := &frameReader{r: conn, max: 1 << 20}
	if _, err := conn.Write(helloFrame(1000)); err != nil {
		t.Fatal(err)
	}
	k, body, err := r.next()
	if err != nil || k != hello {
		t.Fatalf("the first frame is of kind %d, %v, want a hello", k, err)
	}
	if n, err := parseHello(body); n != 1000 || err != nil {
		t.Fatalf("hello says %d, %v, want 1000", n, err)
	}
	return r
}

// TestServeRefuses: if a parent violates the protocol, Serve returns the reason.
func TestServeRefuses(t *testing.T) {
	request := appendMessage(nil, &ferry.Message{Tag: "x"})
	many := make([]byte, 0, 40*len(request))
	for range 40 {
		many = append(many, request...)
	}
	for _, row := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"an unknown kind", closeFrame(beginFrame(nil, 99), 0), "a frame of kind 99, want a message (2) or a cancel (4)"},
		{"a short cancel", closeFrame(append(beginFrame(nil, cancel), 1), 0), "a cancel of 1 bytes, want 8"},
		{"a short message", closeFrame(append(beginFrame(nil, message), 1), 0), "a message of 1 bytes"},
		{"a payload that is too large", appendMessage(nil, &ferry.Message{Payload: make([]byte, 1001)}), "a request of 1001 bytes exceeds MaxMessage 1000"},
		{"too many requests", many, "more than 16 requests sent ahead"},
		{"half a frame", request[:7], io.ErrUnexpectedEOF.Error()},
	} {
		t.Run(row.name, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			s := newServer(far)
			s.orphaned = func() {}
			served := make(chan error, 1)
			go func() {
				served <- s.serve(t.Context(), ferry.HandlerFunc(func(ctx context.Context, _ *ferry.Message, _ ferry.Sender) error {
					<-ctx.Done()
					return nil
				}))
			}()
			greetServer(t, near)
			_, _ = near.Write(row.bytes) // the server may close before it has read all bytes
			if row.name == "half a frame" {
				_ = near.Close()
			}
			if err := <-served; !strings.Contains(text(err), row.want) {
				t.Errorf("Serve = %v, want %q", err, row.want)
			}
		})
	}
}

func TestServeEnds(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	s := newServer(far)
	go func() { served <- s.serve(ctx, ferry.HandlerFunc(obey)) }()
	greetServer(t, near)
	why := errors.New("told to stop")
	cancel(why)
	if err := <-served; !errors.Is(err, why) {
		t.Errorf("Serve = %v, want %v", err, why)
	}
}

func TestSendAfterReturn(t *testing.T) {
	var kept ferry.Sender
	near, far := net.Pipe()
	defer near.Close()
	s := newServer(far)
	served := make(chan error, 1)
	go func() {
		served <- s.serve(t.Context(), ferry.HandlerFunc(func(_ context.Context, _ *ferry.Message, out ferry.Sender) error {
			kept = out
			return nil
		}))
	}()
	r := greetServer(t, near)
	if _, err := near.Write(appendMessage(nil, &ferry.Message{})); err != nil {
		t.Fatal(err)
	}
	if k, _, err := r.next(); k != end || err != nil {
		t.Fatalf("kind %d, %v, want an end", k, err)
	}
	if err := kept.Send(t.Context(), ferry.Message{}); !errors.Is(err, errReturned) {
		t.Errorf("Send = %v, want %v", err, errReturned)
	}
	_ = near.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}
