//go:build linux

package proof

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"example.com/ferry/internal/history"
)

// recorder adds to a History what happens in other processes. A process waits for the reply, so the History has the events in their
// order.
type recorder struct {
	path    string // of the Unix socket
	history *history.History

	// fail says whether the function is to fail. Nil means that it never does.
	fail func(key string, n uint64) bool
}

func newRecorder(t *testing.T, h *history.History) *recorder {
	t.Helper()
	r := &recorder{path: filepath.Join(t.TempDir(), "recorder"), history: h}
	l, err := net.Listen("unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				if err := r.serve(c); err != nil {
					t.Errorf("recorder: %v", err)
				}
			}()
		}
	})
	return r
}

// serve handles the lines of one process: a verb, the name of the process, a key and a number.
func (r *recorder) serve(c net.Conn) error {
	defer c.Close()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		var verb, by, key string
		var n uint64
		if _, err := fmt.Sscanf(lines.Text(), "%s %s %s %d", &verb, &by, &key, &n); err != nil {
			return fmt.Errorf("line %.200q: %w", lines.Text(), err)
		}
		reply := "ok\n"
		switch verb {
		case verbSent:
			r.history.Sent(key, n)
		case verbStored:
			r.history.Stored(key, n)
		case verbHandled:
			r.history.Handled(key, n, by)
			if r.fail != nil && r.fail(key, n) {
				r.history.Failed(key, n, by)
				reply = "fail\n"
			}
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return nil //nolint:nilerror // the function was killed
		}
	}
	return nil
}

// recording is the connection of a process to a recorder.
type recording struct {
	name string

	mu      sync.Mutex
	conn    net.Conn
	replies *bufio.Reader
}

func dialRecorder(path, name string) (*recording, error) {
	c, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	return &recording{name: name, conn: c, replies: bufio.NewReader(c)}, nil
}

// The verbs of lines.
const (
	verbSent    = "sent"
	verbStored  = "stored"
	verbHandled = "handled"
)

// record records an event, and returns whether a function is to fail.
func (r *recording) record(verb, key string, n uint64) (fail bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := fmt.Fprintf(r.conn, "%s %s %s %d\n", verb, r.name, key, n); err != nil {
		return false, err
	}
	reply, err := r.replies.ReadString('\n')
	return reply == "fail\n", err
}
