package traffic

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// writer is the goroutine that writes a Log's lines. Its members are its own.
type writer struct {
	*Log
	file   io.WriteCloser
	batch  []byte // lines; those before at are written
	at     int
	warned time.Time
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
			w.failed(err)
			w.timer.Reset(flushAfter)
		}
		if !open {
			w.ended <- w.end(err)
		}
	}
}

// flush writes what is waiting. What the file does not take stays in batch.
func (w *writer) flush() error {
	for {
		w.change()
		w.gather()
		if w.at == len(w.batch) {
			return nil
		}
		n, err := w.file.Write(w.batch[w.at:])
		w.mu.Lock()
		w.stats.Written += lines(w.batch[w.at : w.at+n])
		w.inHand -= n
		w.mu.Unlock()
		w.at += n
		if err != nil {
			return err
		}
	}
}

// gather takes what is waiting, once all that was taken before is written.
func (w *writer) gather() {
	if w.at < len(w.batch) {
		return
	}
	free := w.batch[:0]
	if cap(free) > 2*flushAt {
		free = nil // there were more lines at once than usual, or than the file took: do not keep the room for ever
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch, w.at, w.waiting = w.waiting, 0, free
	w.inHand = len(w.batch)
}

// change goes on with the file that Reopen opened, if there is one, and there with a whole line.
func (w *writer) change() {
	w.mu.Lock()
	next := w.next
	w.next = nil
	w.mu.Unlock()
	if next == nil {
		return
	}
	if err := w.file.Close(); err != nil {
		w.failed(err)
	}
	w.file = next
	if w.at == len(w.batch) || w.at == 0 || w.batch[w.at-1] == '\n' {
		return
	}
	torn := bytes.IndexByte(w.batch[w.at:], '\n') + 1
	w.at += torn
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inHand -= torn
	w.stats.Dropped++
}

// failed counts an error of the file, and tells of it unless that was done within the last minute.
func (w *writer) failed(err error) {
	w.mu.Lock()
	w.stats.Errors++
	dropped := w.stats.Dropped
	w.mu.Unlock()
	if now := time.Now(); now.Sub(w.warned) >= time.Minute {
		w.warned = now
		w.log.Warn("cannot write the access log", "file", w.name, "error", err, "lines dropped", dropped)
	}
}

// end closes the file. err is why lines are left that it did not take.
func (w *writer) end(err error) error {
	w.mu.Lock()
	lost := lines(w.batch[w.at:]) + lines(w.waiting)
	w.stats.Dropped += lost
	w.waiting, w.inHand = nil, 0
	w.mu.Unlock()
	if closing := w.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("traffic: access log %s: %d lines are lost: %w", w.name, lost, err)
	}
	return nil
}

func lines(b []byte) uint64 { return uint64(bytes.Count(b, newline)) }
