// Package filestate tells whether a file has changed, as far as is known without reading it.
//
//	now, err := os.Stat(path)
//	if !filestate.Same(before, now) || !filestate.Settled(before) { read(path) }
package filestate

import (
	"io/fs"
	"os"
	"time"
)

// precision is the time within which a second change of a file may leave its modification time unchanged. FAT has the coarsest
// one.
const precision = 2 * time.Second

// Same reports whether a file has not changed from state a to state b. nil is the state of a missing file.
func Same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode() && os.SameFile(a, b)
}

// Settled reports whether a further change of a file in this state would give it another state. A file that was modified just
// now has to be compared by content.
func Settled(info fs.FileInfo) bool {
	return info == nil || time.Since(info.ModTime()) >= precision
}
