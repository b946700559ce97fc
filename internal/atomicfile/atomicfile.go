// Package atomicfile makes and replaces files so that after a crash there is the old one or the new one. It makes directories that outlive
// a crash.
//
//	err := atomicfile.Write("data/state.json", content, 0o600)
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Write makes content the content of a file. It is on the disk when Write returns.
func Write(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, func(temp string) error { return os.Rename(temp, path) })
}

// Create is Write for a file that does not exist. If several processes create it at the same time, all find the content of one of them. A file that
// exists stays as it is, and is no error.
func Create(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, func(temp string) error {
		err := os.Link(temp, path)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		return errors.Join(err, os.Remove(temp))
	})
}

// stale is the age at which a temporary file is one of a process that has ended.
const stale = time.Minute

// write writes a temporary file and syncs it, and has place give it its name. It removes what processes that were killed have left of earlier writes.
func write(path string, content []byte, mode fs.FileMode, place func(temp string) error) error {
	dir, pattern := filepath.Dir(path), "."+filepath.Base(path)+".new-*"
	temp, err := os.CreateTemp(dir, pattern) // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		err = place(temp.Name())
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // it may be gone
		return fmt.Errorf("write %s: %w", path, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is valid, or finds nothing
	for _, each := range left {
		if info, err := os.Lstat(each); err == nil && time.Since(info.ModTime()) > stale {
			_ = os.Remove(each) // the next write tries again
		}
	}
	return SyncDir(dir)
}

// SyncDir makes renames and removals in a directory outlive a crash, if the operating system and the file system can: on Windows it does nothing.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = d.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// MkdirAll is os.MkdirAll. The names of the directories that it makes are on the disk when it returns.
func MkdirAll(dir string, mode fs.FileMode) error { return mkdirAll(dir, mode, SyncDir) }

func mkdirAll(dir string, mode fs.FileMode, sync func(string) error) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	above := filepath.Dir(dir)
	if err := mkdirAll(above, mode, sync); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sync(above)
}
