package cli

import (
	"errors"
	"os"
	"path/filepath"

	"example.com/ferry/internal/atomicfile"
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
	return atomicfile.SyncDir(dir)
}

// syncFile opens the file for writing, because Windows syncs no other.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
