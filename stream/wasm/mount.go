package wasm

import (
	"io/fs"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
)

// MaxOpen is how many files of its mounts an instance may have open at a time. Each takes a descriptor of the process.
const MaxOpen = 64

// mounts returns the file system of an instance. All mounts count in open, which only the call that runs in the instance uses.
func mounts(list []Mount, open *int) wazero.FSConfig {
	files := wazero.NewFSConfig()
	for _, m := range list {
		root := sysfs.DirFS(m.Host)
		if !m.Write {
			root = &sysfs.ReadFS{FS: root}
		}
		files = files.(sysfs.FSConfig).WithSysFSMount(&mount{FS: root, open: open}, m.Guest)
	}
	return files
}

// mount bounds the open files of an instance.
type mount struct {
	sys.FS
	open *int
}

// OpenFile opens a file. Without a place it fails with EAGAIN: the guest closes another file first.
func (m *mount) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	if *m.open >= MaxOpen {
		return nil, sys.EAGAIN
	}
	f, errno := m.FS.OpenFile(path, flag, perm)
	if errno != 0 {
		return nil, errno
	}
	*m.open++
	return &mountedFile{File: f, open: m.open}, 0
}

// mountedFile gives its place back when it is closed.
type mountedFile struct {
	sys.File
	open   *int
	closed bool
}

// Close closes the file.
func (f *mountedFile) Close() sys.Errno {
	if !f.closed {
		f.closed = true
		*f.open--
	}
	return f.File.Close()
}
