package traffic

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"example.com/ferry/internal/invalid"
)

const (
	maxQueued    = 1 << 20                // bytes of queued lines above which entries are dropped
	flushAt      = 64 << 10               // bytes of queued lines at which the writer starts
	flushAfter   = 200 * time.Millisecond // longest time that a line is queued
	closeTimeout = 5 * time.Second
	typicalLine  = 1 << 10 // bytes; a longer line costs an allocation
)

// Log is an access log. A nil Log discards entries. Any goroutine may call its methods. Write never waits for the
// file: a goroutine writes the queued lines when they have 64 KiB, or 200 ms after the first line.
type Log struct {
	name      string
	threshold uint64 // result of LogConfig.threshold
	open      func() (io.WriteCloser, error)
	log       *slog.Logger

	mu       sync.Mutex
	queue    []byte         // lines that the writer has not taken
	writing  int            // bytes that the writer has taken from queue but not yet written
	reopened io.WriteCloser // file that Reopen has opened and the writer has not switched to
	closed   bool
	stats    LogStats

	timer   *time.Timer
	wake    chan struct{} // capacity 1; wakes the writer at flushAt bytes, and when reopened is set
	closing chan struct{} // closed by Close
	result  chan error    // capacity 1; receives the error of Close
}

// LogStats counts entries.
type LogStats struct {
	Written uint64 // lines written
	Dropped uint64 // lines dropped because 1 MiB was queued or the Log was closed
	Errors  uint64 // failed writes to the file; the writer repeats them
}

// OpenLog opens the access log that c configures. A missing file is created with mode 0640. Failed writes are
// reported to log, at most once per minute. A nil log means slog.Default. If c has no file, the Log is nil. The
// caller must call Close.
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
		name: c.File, threshold: c.threshold(), open: open, log: log, timer: time.NewTimer(flushAfter),
		wake: make(chan struct{}, 1), closing: make(chan struct{}), result: make(chan error, 1),
	}
	go (&writer{Log: l, file: file}).run()
	return l, nil
}

// openFile opens a file for appending. With O_NONBLOCK, opening a named pipe that has no reader fails instead of
// waiting.
func openFile(name string) (io.WriteCloser, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return nil, fmt.Errorf("traffic: access log: %w: name a file that can be written, in a folder there is", err)
	}
	return f, nil
}

// standardOutput writes to os.Stdout and does not close it.
type standardOutput struct{}

func (standardOutput) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (standardOutput) Close() error                { return nil }

// Sampled reports whether a request with Code c is logged. random is 64 random bits.
func (l *Log) Sampled(random uint64, c Code) bool {
	return l != nil && (random>>11 < l.threshold || c.Failed())
}

// Write queues an entry. It keeps no reference to e.
func (l *Log) Write(e *Entry) {
	if l == nil {
		return
	}
	var room [typicalLine]byte
	line := e.append(room[:0], time.Now())
	l.mu.Lock()
	before := len(l.queue)
	after := before + len(line)
	if l.closed || after+l.writing > maxQueued {
		l.stats.Dropped++
		l.mu.Unlock()
		return
	}
	l.queue = append(l.queue, line...)
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
	default: // the writer has a wake-up pending
	}
}

// Stats returns the current counts.
func (l *Log) Stats() LogStats {
	if l == nil {
		return LogStats{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Reopen opens the log file's path again. It is called after the file was moved or removed. Later lines are written
// to the new file. If opening fails, lines are still written to the old file.
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
	file, l.reopened = l.reopened, file
	l.mu.Unlock()
	l.signal()
	if file != nil { // file of an earlier Reopen; nothing was written to it
		return file.Close()
	}
	return nil
}

// Close writes the queued lines and closes the file. Writing takes 5 s at most. The error says how many lines were
// lost. Entries written later are dropped and counted.
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
	case err := <-l.result:
		return err
	case <-time.After(closeTimeout):
		return fmt.Errorf("traffic: access log %s: the file took nothing for %v: the queued lines are lost", l.name, closeTimeout)
	}
}

// LogConfig configures an access log. Each line is a JSON object.
type LogConfig struct {
	// File is the path of the file that lines are appended to, or "-" for standard output. Empty means no log.
	File string `yaml:"file,omitempty"`

	// Sample is the fraction of requests that are logged: above 0, up to 1. Zero means 1. Requests whose response is 5xx, or a
	// Bolt status other than success, are always logged.
	Sample float64 `yaml:"sample,omitempty"`
}

// Check returns an error for every invalid field of c as invalid.Errors, or nil.
func (c *LogConfig) Check() error {
	var errs invalid.Errors
	if c.Sample < 0 || c.Sample > 1 || math.IsNaN(c.Sample) {
		errs.Add("traffic", "sample", "%v is not a fraction of the requests: write a number above 0, up to 1", c.Sample)
	}
	return errs.Err()
}

// threshold returns the limit for sampling. A request is logged if the upper 53 of its 64 random bits are below the
// limit.
func (c *LogConfig) threshold() uint64 {
	const all = 1 << 53
	if c.Sample == 0 {
		return all
	}
	return uint64(c.Sample * all)
}
