//go:build linux

package disktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"example.com/ferry/internal/needs"
)

// Config is the Config of a Disk. Its zero value works.
type Config struct {
	Capacity int64 // bytes of all files; 0 means 1 GiB
}

// Disk is a mounted file system. All methods may overlap.
//
// Names are stored at once, as a journal does: a power failure undoes no Create, Rename and Remove. Bytes and sizes of files are
// stored by fsync and fdatasync, and by each write to a file that is open with O_SYNC or O_DSYNC.
type Disk struct {
	Dir string // where it is mounted

	root *dir

	mu       sync.Mutex
	capacity int64
	used     int64 // bytes of all files with a name
	syncs    int
}

// Mount mounts an empty Disk. The test's end unmounts it. It skips the test on a machine without FUSE.
func Mount(t testing.TB, c Config) *Disk {
	t.Helper()
	needs.FUSE(t)
	d := &Disk{Dir: t.TempDir(), capacity: c.Capacity}
	if d.capacity == 0 {
		d.capacity = 1 << 30
	}
	d.root = &dir{disk: d}
	server, err := fs.Mount(d.Dir, d.root, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMount: true,
		FsName:      "disktest",
		Name:        "disktest",
		MaxWrite:    512 << 10,
	}})
	if err != nil {
		needs.Missing(t, fmt.Sprintf("permission to mount (%v)", err), "sudo make test, on Linux with /dev/fuse")
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Errorf("unmounting %s: %v: is a process left that uses it?", d.Dir, err)
			_ = syscall.Unmount(d.Dir, syscall.MNT_DETACH)
		}
	})
	return d
}

// SetCapacity changes the capacity, and returns the one before. Below Used, no file can grow.
func (d *Disk) SetCapacity(bytes int64) (before int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, d.capacity = d.capacity, bytes
	return before
}

// Used returns the bytes of all files.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// Syncs returns how many times a process has synced a file or has written to one that is open with O_SYNC.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// LosePower forgets what was not synced, and returns the number of lost bytes. First end the processes that use the Disk.
func (d *Disk) LosePower() (lost int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = 0
	seen := map[*file]bool{} // a file may have several names
	var walk func(*fs.Inode)
	walk = func(n *fs.Inode) {
		for _, child := range n.Children() {
			if f, ok := child.Operations().(*file); ok && !seen[f] {
				seen[f] = true
				lost += f.content.losePower()
				d.used += int64(len(f.content.data))
			}
			walk(child)
		}
	}
	walk(d.root.EmbeddedInode())
	return lost
}

// Flip damages one bit of a file. name is relative to Dir.
func (d *Disk) Flip(name string, offset int64) error {
	n := d.root.EmbeddedInode()
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if n = n.GetChild(part); n == nil {
			return &os.PathError{Op: "flip", Path: name, Err: os.ErrNotExist}
		}
	}
	f, ok := n.Operations().(*file)
	if !ok {
		return &os.PathError{Op: "flip", Path: name, Err: syscall.EISDIR}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if offset < 0 || offset >= int64(len(f.content.data)) {
		return fmt.Errorf("disktest: %s has %d bytes, none at offset %d", name, len(f.content.data), offset)
	}
	f.content.flip(int(offset))
	return nil
}

// dir is a directory. package fs has its entries.
type dir struct {
	fs.Inode
	disk *Disk
}

var (
	_ fs.NodeCreater   = (*dir)(nil)
	_ fs.NodeLinker    = (*dir)(nil)
	_ fs.NodeSymlinker = (*dir)(nil)
	_ fs.NodeMkdirer   = (*dir)(nil)
	_ fs.NodeUnlinker  = (*dir)(nil)
	_ fs.NodeRmdirer   = (*dir)(nil)
	_ fs.NodeRenamer   = (*dir)(nil)
	_ fs.NodeStatfser  = (*dir)(nil)
	_ fs.NodeGetattrer = (*dir)(nil)
	_ fs.NodeSetattrer = (*dir)(nil)
	_ fs.NodeFsyncer   = (*dir)(nil)
)

func (d *dir) Create(ctx context.Context, _ string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	f := &file{disk: d.disk, names: 1, mode: mode, modified: time.Now()}
	f.attr(&out.Attr)
	n := d.NewPersistentInode(ctx, f, fs.StableAttr{Mode: syscall.S_IFREG})
	return n, newHandle(flags), fuse.FOPEN_DIRECT_IO, 0
}

func (d *dir) Link(_ context.Context, to fs.InodeEmbedder, _ string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	f, ok := to.(*file)
	if !ok {
		return nil, syscall.EPERM
	}
	d.disk.mu.Lock()
	defer d.disk.mu.Unlock()
	f.names++
	f.attr(&out.Attr)
	return f.EmbeddedInode(), 0
}

func (d *dir) Symlink(ctx context.Context, target, _ string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	link := &fs.MemSymlink{Data: []byte(target)}
	n := d.NewPersistentInode(ctx, link, fs.StableAttr{Mode: syscall.S_IFLNK})
	out.Mode = syscall.S_IFLNK | 0o777
	return n, 0
}

func (d *dir) Mkdir(ctx context.Context, _ string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	out.Mode = syscall.S_IFDIR | 0o755
	return d.NewPersistentInode(ctx, &dir{disk: d.disk}, fs.StableAttr{Mode: syscall.S_IFDIR}), 0
}

func (d *dir) Unlink(_ context.Context, name string) syscall.Errno {
	d.disk.remove(d.GetChild(name))
	return 0
}

func (d *dir) Rmdir(_ context.Context, name string) syscall.Errno {
	if child := d.GetChild(name); child != nil && len(child.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	return 0
}

func (d *dir) Rename(_ context.Context, _ string, to fs.InodeEmbedder, name string, flags uint32) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL // neither RENAME_EXCHANGE nor RENAME_NOREPLACE
	}
	replaced := to.EmbeddedInode().GetChild(name)
	if replaced != nil && len(replaced.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	d.disk.remove(replaced)
	return 0
}

// remove takes a name from a file, and the bytes of a file without a name out of used.
func (d *Disk) remove(n *fs.Inode) {
	if n == nil {
		return
	}
	if f, ok := n.Operations().(*file); ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		if f.names--; f.names == 0 {
			d.used -= int64(len(f.content.data))
		}
	}
}

func (d *dir) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	d.disk.mu.Lock()
	defer d.disk.mu.Unlock()
	out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
	out.Blocks = uint64(d.disk.capacity / pageSize)
	out.Bfree = uint64(max(0, d.disk.capacity-d.disk.used) / pageSize)
	out.Bavail = out.Bfree
	out.Files, out.Ffree = 1<<20, 1<<20
	return 0
}

func (d *dir) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = syscall.S_IFDIR | 0o755
	return 0
}

func (d *dir) Setattr(ctx context.Context, h fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.Getattr(ctx, h, out)
}

// Fsync of a directory has no effect, because names are stored at once.
func (d *dir) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return 0 }
