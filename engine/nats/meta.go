package nats

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// syncMeta syncs the files that describe the streams of an embedded server, and the directories above them. The server itself
// syncs them with SyncAlways only. Without them it cannot recover a stream after the machine has lost power.
func syncMeta(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && d.Name() == "msgs":
			return filepath.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), "meta."):
			err = syncFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // removed in the meantime
			return nil
		}
		return err
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(f.Sync()), f.Close())
}
