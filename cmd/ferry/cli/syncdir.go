package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// syncTree syncs all files and directories below dir, and dir, to the disk. It syncs a directory after what is in it.
func syncTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = syncTree(path)
		case e.Type().IsRegular():
			err = syncFile(path)
		}
		if err != nil {
			return err
		}
	}
	return syncDir(dir)
}

// syncFile opens the file for writing, because Windows syncs no other.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir syncs the names in a directory, if the operating system and the file system can.
func syncDir(dir string) error {
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
	return errors.Join(err, d.Close())
}

// makeDirs is os.MkdirAll. The names of the directories that it makes are on the disk when it returns.
func makeDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(dir)
	if err := makeDirs(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(above)
}
