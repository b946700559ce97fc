package wasm

import (
	"bytes"
	"errors"
	"log/slog"
)

// errStopped ends a guest that prints when its call is to end. One call of fd_write can print the guest's memory any number of times.
var errStopped = errors.New("it prints after the end of its call")

// lineWriter logs what a guest prints, line by line.
type lineWriter struct {
	*instance
	rest []byte // of a line without its end; at most maxLine bytes
}

// Write logs the lines that b completes. It ends the guest if its call is to end.
func (w *lineWriter) Write(b []byte) (int, error) {
	select {
	case <-w.stopped:
		panic(errStopped)
	default:
	}
	for rest := b; len(rest) > 0; {
		part := rest[:min(len(rest), maxLine-len(w.rest))]
		line, _, ended := bytes.Cut(part, []byte("\n"))
		w.rest = append(w.rest, line...)
		rest = rest[len(line):]
		if ended {
			rest = rest[1:]
		}
		if ended || len(w.rest) == maxLine {
			w.log(slog.LevelInfo, string(w.rest))
			w.rest = w.rest[:0]
		}
	}
	return len(b), nil
}
