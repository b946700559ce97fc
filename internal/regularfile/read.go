package regularfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"example.com/ferry/internal/pace"
)

// ErrSpecial is in the error for what is neither a regular file nor a directory, such as a pipe.
var ErrSpecial = errors.New("not a regular file")

// Read returns the content of a file of at most limit bytes. Symbolic links are followed. Errors name the file.
func Read(path string, limit int64) ([]byte, error) {
	f, _, err := open(path, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return All(f, path, limit)
}

// piece is how much of a text is read between turns of other goroutines, in bytes.
const piece = 64 << 10

// Text is Read for a large file that is read while event loops share the processor: see package pace.
func Text(path string, limit int64) (string, error) {
	f, size, err := open(path, limit)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	var text strings.Builder
	text.Grow(int(size))
	buffer := make([]byte, min(piece, size+1))
	for {
		n, err := f.Read(buffer)
		text.Write(buffer[:n])
		switch {
		case int64(text.Len()) > limit:
			return "", tooLong(path, int64(text.Len()), limit)
		case errors.Is(err, io.EOF):
			return text.String(), nil
		case err != nil:
			return "", err
		}
		pace.Step()
	}
}

// open opens a regular file of at most limit bytes, and returns its size, too.
func open(path string, limit int64) (f *os.File, size int64, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case info.IsDir():
		return nil, 0, fmt.Errorf("%s is a directory: name a file", path)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s: %w", path, ErrSpecial)
	case info.Size() > limit:
		return nil, 0, tooLong(path, info.Size(), limit)
	}
	f, err = os.Open(path)
	return f, info.Size(), err
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
