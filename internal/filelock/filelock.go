// Package filelock takes a lock that one process at a time may have.
//
//	lock, err := filelock.Take("ferry-data/node.lock")
//	defer lock.Close()
//
// The lock belongs to an open file: it ends with Close, or with the process. The file stays, with the number of the process that had it last.
package filelock

import (
	"errors"
	"os"
)

// ErrHeld is wrapped by the error of Take if another process, or another part of this one, has the lock.
var ErrHeld = errors.New("in use by another process")

// Lock is a lock that was taken.
type Lock struct{ file *os.File }

// Take takes the lock of the file at path, which it makes if it is missing. It does not wait. The error names the file and, where the system tells,
// the process that has it.
func Take(path string) (*Lock, error) {
	f, err := take(path)
	if err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

// Close gives the lock back.
func (l *Lock) Close() error { return l.file.Close() }
