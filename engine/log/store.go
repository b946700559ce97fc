package log

import (
	"io"
	"os"
	"path/filepath"
	"sync"

	"example.com/ferry/internal/atomicfile"
)

// Store has the files of a Log.
type Store interface {
	Create(name string) (File, error) // fails if the file exists
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	List() ([]string, error)
	Sync() error // returns when the names are on the disk
}

// File is one file of a Store.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error // returns when the bytes are on the disk
}

// shared has the files that Readers read, each of them open once.
type shared struct {
	mu   sync.Mutex
	open map[string]*sharedFile
}

// sharedFile is a file that Readers share. Each closes it.
type sharedFile struct {
	File
	of    *shared
	name  string
	users int
}

// get opens a file, unless a Reader has it.
func (s *shared) get(store Store, name string) (*sharedFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.open[name]
	if f == nil {
		file, err := store.Open(name)
		if err != nil {
			return nil, err
		}
		if s.open == nil {
			s.open = map[string]*sharedFile{}
		}
		f = &sharedFile{File: file, of: s, name: name}
		s.open[name] = f
	}
	f.users++
	return f, nil
}

// Close closes the file when the last Reader has done so.
func (f *sharedFile) Close() error {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.users--; f.users > 0 {
		return nil
	}
	delete(f.of.open, f.name)
	return f.File.Close()
}

// Dir is a Store whose files are in the directory with that path.
type Dir string

var _ Store = Dir("")

// Create makes a file that is read and written.
func (d Dir) Create(name string) (File, error) {
	return d.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open opens a file to read and write.
func (d Dir) Open(name string) (File, error) { return d.open(name, os.O_RDWR) }

func (d Dir) open(name string, flags int) (File, error) {
	f, err := os.OpenFile(filepath.Join(string(d), name), flags, 0o600)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Rename replaces a file.
func (d Dir) Rename(from, to string) error {
	return os.Rename(filepath.Join(string(d), from), filepath.Join(string(d), to))
}

// Remove removes a file.
func (d Dir) Remove(name string) error { return os.Remove(filepath.Join(string(d), name)) }

// List returns the names of all files.
func (d Dir) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Sync syncs the directory.
func (d Dir) Sync() error { return atomicfile.SyncDir(string(d)) }

// diskFile is a file of a Dir.
type diskFile struct{ *os.File }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f diskFile) Sync() error { return syncData(f.File) }
