package traffic

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	maxWaiting    = 1 << 20                // bytes
	flushAt       = 64 << 10               // bytes: so many are written at once
	flushAfter    = 200 * time.Millisecond // fewer wait so long
	closePatience = 5 * time.Second
	typicalLine   = 1 << 10 // bytes: a longer line costs an allocation
)

// Log is an access log. A nil Log takes nothing. Its methods may be called by any goroutine. Write never waits for the file: a
// goroutine writes lines to it as soon as 64 KiB have gathered, or 200 ms after the first one.
type Log struct {
	name string
	take uint64 // see LogConfig.threshold
	open func() (io.WriteCloser, error)
	log  *slog.Logger

	mu      sync.Mutex
	waiting []byte         // lines
	inHand  int            // bytes that the writer has taken from waiting and not written yet
	next    io.WriteCloser // what Reopen opened, until the writer takes it
	closed  bool
	stats   LogStats

	timer   *time.Timer
	wake    chan struct{} // holds one: much is waiting, or a next file
	closing chan struct{} // closed by Close
	ended   chan error    // holds one: why lines were lost in the end
}

// LogStats says what became of entries.
type LogStats struct {
	Written uint64 // lines
	Dropped uint64 // lines: 1 MiB was waiting already, or the Log was closed
	Errors  uint64 // times the file did not take what it was given; that is tried again
}

// OpenLog opens the access log that c describes; its file is made if there is none, with mode 0640. Failures to write are told
// to log, once a minute; nil means slog.Default. Without a file in c the Log is nil. Close must follow.
func OpenLog(c *LogConfig, log *slog.Logger) (*Log, error) {
	if err := c.Check(); err != nil || c.File == "" {
		return nil, err
	}
	open := func() (io.WriteCloser, error) { return openFile(c.File) }
	if c.File == "-" {
		open = func() (io.WriteCloser, error) { return standardOutput{}, nil }
	}
	return newLog(c, log, open)
}

func newLog(c *LogConfig, log *slog.Logger, open func() (io.WriteCloser, error)) (*Log, error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	l := &Log{
		name: c.File, take: c.threshold(), open: open, log: log, timer: time.NewTimer(flushAfter),
		wake: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan error, 1),
	}
	go (&writer{Log: l, file: file}).run()
	return l, nil
}

// openFile opens a file to add to. A named pipe that nobody reads is an error, and nothing to wait for.
func openFile(name string) (io.WriteCloser, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return nil, fmt.Errorf("traffic: access log: %w: name a file that can be written, in a folder there is", err)
	}
	return f, nil
}

// standardOutput is not ours to close.
type standardOutput struct{}

func (standardOutput) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (standardOutput) Close() error                { return nil }

// Takes reports whether a request that was answered c is among those to be logged. random is 64 random bits.
func (l *Log) Takes(random uint64, c Code) bool {
	return l != nil && (random>>11 < l.take || c.Failed())
}

// Write logs an entry. It copies what it needs of e.
func (l *Log) Write(e *Entry) {
	if l == nil {
		return
	}
	var room [typicalLine]byte
	line := e.append(room[:0], time.Now())
	l.mu.Lock()
	before := len(l.waiting)
	after := before + len(line)
	if l.closed || after+l.inHand > maxWaiting {
		l.stats.Dropped++
		l.mu.Unlock()
		return
	}
	l.waiting = append(l.waiting, line...)
	l.mu.Unlock()
	switch {
	case before < flushAt && after >= flushAt:
		l.signal()
	case before == 0:
		l.timer.Reset(flushAfter)
	}
}

func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // it is awake already
	}
}

// Stats says what became of entries so far.
func (l *Log) Stats() LogStats {
	if l == nil {
		return LogStats{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Reopen opens the file by its name again, for lines from then on: it was moved away, or removed. If that cannot be done,
// lines go where they went before.
func (l *Log) Reopen() error {
	if l == nil {
		return nil
	}
	file, err := l.open()
	if err != nil {
		return err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errors.Join(fmt.Errorf("traffic: access log %s: reopen: %w", l.name, os.ErrClosed), file.Close())
	}
	file, l.next = l.next, file
	l.mu.Unlock()
	l.signal()
	if file != nil { // opened by the Reopen before, and nothing was written to it
		return file.Close()
	}
	return nil
}

// Close writes what is waiting, for 5 s at most, and closes the file. The error says what was lost. Entries that come later
// are dropped, and counted as such.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	close(l.closing)
	select {
	case err := <-l.ended:
		return err
	case <-time.After(closePatience):
		return fmt.Errorf("traffic: access log %s: took nothing for %v: what waited for it is lost", l.name, closePatience)
	}
}
