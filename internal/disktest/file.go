//go:build linux

package disktest

import (
	"context"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// file is a regular file. The lock of the Disk guards it.
type file struct {
	fs.Inode
	disk     *Disk
	content  content
	names    int    // number of names that it has
	mode     uint32 // permissions
	modified time.Time
}

var (
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
)

// handle is an open file.
type handle struct{ sync bool } // each write is synced

func newHandle(flags uint32) *handle {
	return &handle{sync: flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0}
}

func (f *file) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return newHandle(flags), fuse.FOPEN_DIRECT_IO, 0 // the kernel must not cache what LosePower changes
}

func (f *file) Read(_ context.Context, _ fs.FileHandle, p []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return fuse.ReadResultData(p[:f.content.read(p, int(offset))]), 0
}

func (f *file) Write(_ context.Context, h fs.FileHandle, p []byte, offset int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if errno := f.reserve(offset + int64(len(p))); errno != 0 {
		return 0, errno
	}
	if open, ok := h.(*handle); ok && open.sync {
		f.content.writeSync(p, int(offset))
		f.disk.syncs++
	} else {
		f.content.write(p, int(offset))
	}
	f.modified = time.Now()
	return uint32(len(p)), 0
}

// reserve counts the bytes by which the file is about to grow.
func (f *file) reserve(size int64) syscall.Errno {
	more := size - int64(len(f.content.data))
	if more <= 0 || f.names == 0 {
		return 0
	}
	if f.disk.used+more > f.disk.capacity {
		return syscall.ENOSPC
	}
	f.disk.used += more
	return 0
}

func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.content.sync()
	f.disk.syncs++
	return 0
}

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.attr(&out.Attr)
	return 0
}

func (f *file) attr(out *fuse.Attr) {
	out.Mode = syscall.S_IFREG | f.mode&0o7777
	out.Nlink = uint32(f.names)
	out.Size = uint64(len(f.content.data))
	out.Blocks = (out.Size + 511) / 512
	out.Blksize = pageSize
	out.SetTimes(nil, &f.modified, &f.modified)
}

func (f *file) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if mode, ok := in.GetMode(); ok {
		f.mode = mode
	}
	if size, ok := in.GetSize(); ok {
		if errno := f.reserve(int64(size)); errno != 0 {
			return errno
		}
		if f.names > 0 {
			f.disk.used -= max(0, int64(len(f.content.data))-int64(size))
		}
		f.content.resize(int(size))
		f.modified = time.Now()
	}
	f.attr(&out.Attr)
	return 0
}
