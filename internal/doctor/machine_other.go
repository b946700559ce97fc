//go:build !linux

package doctor

import (
	"errors"
	"io/fs"
	"os"
)

func fileSystem(string) (FileSystem, error) { return FileSystem{}, errors.ErrUnsupported }

func clockState() (synchronized bool, err error) { return false, errors.ErrUnsupported }

// writable creates a file, as there is no other way that holds everywhere.
func writable(path string) error {
	f, err := os.CreateTemp(path, ".doctor")
	if err != nil {
		return err
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// privileged reports whether a bind failed because the port is for privileged processes.
func privileged(err error) bool { return errors.Is(err, fs.ErrPermission) }
