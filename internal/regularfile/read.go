package regularfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrSpecial is in the error for what is neither a regular file nor a directory, such as a pipe.
var ErrSpecial = errors.New("not a regular file")

// Read returns the content of a file of at most limit bytes. Symbolic links are followed. Errors name the file.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, ErrSpecial)
	case info.Size() > limit:
		return nil, tooLong(path, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return All(f, path, limit)
}

// All returns what r has, which is at most limit bytes. path is the name of r in errors.
func All(r io.Reader, path string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit { // it has grown, or a file of /proc, which says that it has no bytes
		err = tooLong(path, int64(len(data)), limit)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

func tooLong(path string, size, limit int64) error {
	return fmt.Errorf("%s has %d bytes or more: at most %d", path, size, limit)
}
