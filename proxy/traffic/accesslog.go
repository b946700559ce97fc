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
	maxQueued    = 1 << 20                // bytes
	flushAt      = 64 << 10               // bytes queued that wake the writer
	flushAfter   = 200 * time.Millisecond // the longest time in the queue while fewer bytes are queued
	closeTimeout = 5 * time.Second
	typicalLine  = 1 << 10 // bytes: a longer line costs an allocation
)

// Log is an access log. A nil Log discards entries. Its methods may be called by any goroutine. Write never waits for the file:
// a goroutine writes the queued lines when there are 64 KiB of them, or 200 ms after the first one.
type Log struct {
	name      string
	threshold uint64 // see LogConfig.threshold
	open      func() (io.WriteCloser, error)
	log       *slog.Logger

	mu       sync.Mutex
	queue    []byte         // lines
	writing  int            // bytes that the writer took from queue and has not written yet
	reopened io.WriteCloser // the file that Reopen opened, until the writer uses it
	closed   bool
	stats    LogStats

	timer   *time.Timer
	wake    chan struct{} // capacity 1: flushAt was reached, or reopened is set
	closing chan struct{} // closed by Close
	result  chan error    // capacity 1: the error of Close
}

// LogStats counts entries.
type LogStats struct {
	Written uint64 // lines
	Dropped uint64 // lines, because 1 MiB was queued or the Log was closed
	Errors  uint64 // failed writes to the file; they are repeated
}

// OpenLog opens the access log that c configures. A missing file is created with mode 0640. Failed writes are reported to log,
// at most once a minute; a nil log means slog.Default. Without a file in c the Log is nil. The caller calls Close.
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

// openFile opens a file for appending. O_NONBLOCK makes a named pipe without a reader an error instead of a wait.
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

// Sampled reports whether a request with Code c is to be logged. random is 64 random bits.
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
	default: // a signal is pending
	}
}

// Stats returns the counts so far.
func (l *Log) Stats() LogStats {
	if l == nil {
		return LogStats{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Reopen opens the file by its name again, after it was moved or removed. Later lines go to the new file. If opening fails, lines
// go to the old file as before.
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
	if file != nil { // of the Reopen before; nothing was written to it
		return file.Close()
	}
	return nil
}

// Close writes the queued lines, for 5 s at most, and closes the file. The error says how many lines were lost. Entries written
// later are dropped and counted.
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
