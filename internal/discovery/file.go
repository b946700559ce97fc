package discovery

import (
	"context"
	"io/fs"
	"os"
	"time"

	"example.com/ferry/internal/filestate"
)

// fileInterval is the time between two checks of a file. A changed file is read once it has stayed the same from one check
// to the next, because a program may still be writing it.
const fileInterval = time.Second

// File returns the source of a file that lists endpoints, as ReadFile reads it. Changes are used within a few seconds. While the
// file cannot be read or is invalid, each check fails and the endpoints before stay valid.
func File(path string) Source {
	f := &file{path: path}
	return &polled{name: path, lookup: f.lookup, interval: fileInterval}
}

// file is what a source knows of its file.
type file struct {
	path string
	seen fs.FileInfo // at the last check; nil if there was no file
	read bool        // the file was read in state seen, and another change would change its state
	list []Endpoint  // nil before the file was read
	err  error       // of the last time the file was read
}

// lookup reads the file if it has changed and stayed the same since the last check.
func (f *file) lookup(context.Context) ([]Endpoint, time.Duration, error) {
	now, err := os.Stat(f.path)
	if err != nil {
		f.seen, f.read, f.err = nil, false, err
		return nil, 0, err
	}
	changed := !filestate.Same(f.seen, now)
	f.seen, f.read = now, f.read && !changed
	if f.read || changed && f.list != nil {
		return f.current()
	}
	list, err := ReadFile(f.path)
	if f.err = err; err == nil {
		f.list = list
	}
	f.read = err == nil && filestate.Settled(now)
	return f.current()
}

// current returns the result of the last time the file was read.
func (f *file) current() ([]Endpoint, time.Duration, error) {
	if f.err != nil {
		return nil, 0, f.err
	}
	return f.list, 0, nil
}
