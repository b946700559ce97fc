package traffic

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// writer is the goroutine that writes a Log's lines to the file. No other goroutine uses its fields.
type writer struct {
	*Log
	file        io.WriteCloser
	batch       []byte // lines to write; batch[:written] is already written
	written     int
	lastWarning time.Time
}

var newline = []byte{'\n'}

func (w *writer) run() {
	for open := true; open; {
		select {
		case <-w.timer.C:
		case <-w.wake:
		case <-w.closing:
			open = false
		}
		err := w.flush()
		if err != nil {
			w.reportError(err)
			w.timer.Reset(flushAfter)
		}
		if !open {
			w.result <- w.close(err)
		}
	}
}

// flush writes all queued lines. After an error the unwritten lines stay in batch.
func (w *writer) flush() error {
	for {
		w.switchFile()
		w.nextBatch()
		if w.written == len(w.batch) {
			return nil
		}
		n, err := w.file.Write(w.batch[w.written:])
		w.mu.Lock()
		w.stats.Written += countLines(w.batch[w.written : w.written+n])
		w.writing -= n
		w.mu.Unlock()
		w.written += n
		if err != nil {
			return err
		}
	}
}

// nextBatch takes the queued lines after the previous batch is written.
func (w *writer) nextBatch() {
	if w.written < len(w.batch) {
		return
	}
	free := w.batch[:0]
	if cap(free) > 2*flushAt {
		free = nil // release the memory that a burst or a slow file has needed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch, w.written, w.queue = w.queue, 0, free
	w.writing = len(w.batch)
}

// switchFile switches to the file that Reopen has opened, if any. No line is split between the two files.
func (w *writer) switchFile() {
	w.mu.Lock()
	next := w.reopened
	w.reopened = nil
	w.mu.Unlock()
	if next == nil {
		return
	}
	if err := w.file.Close(); err != nil {
		w.reportError(err)
	}
	w.file = next
	if w.written == len(w.batch) || w.written == 0 || w.batch[w.written-1] == '\n' {
		return
	}
	torn := bytes.IndexByte(w.batch[w.written:], '\n') + 1
	w.written += torn
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing -= torn
	w.stats.Dropped++
}

// reportError counts a write error. It logs such errors at most once per minute.
func (w *writer) reportError(err error) {
	w.mu.Lock()
	w.stats.Errors++
	dropped := w.stats.Dropped
	w.mu.Unlock()
	if now := time.Now(); now.Sub(w.lastWarning) >= time.Minute {
		w.lastWarning = now
		w.log.Warn("traffic: cannot write the access log", "file", w.name, "err", err, "dropped", dropped)
	}
}

// close closes the file. err is the error of the last flush, after which lines are still in batch.
func (w *writer) close(err error) error {
	w.mu.Lock()
	lost := countLines(w.batch[w.written:]) + countLines(w.queue)
	w.stats.Dropped += lost
	w.queue, w.writing = nil, 0
	w.mu.Unlock()
	if closing := w.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("traffic: access log %s: %d lines are lost: %w", w.name, lost, err)
	}
	return nil
}

func countLines(b []byte) uint64 { return uint64(bytes.Count(b, newline)) }
