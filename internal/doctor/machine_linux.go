package doctor

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystems are the names of file systems by the magic number of statfs(2).
var fileSystems = map[int64]string{
	unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2", unix.V9FS_MAGIC: "9p",
	unix.CEPH_SUPER_MAGIC: "ceph", unix.FUSE_SUPER_MAGIC: "fuse", unix.AFS_SUPER_MAGIC: "afs",
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.MSDOS_SUPER_MAGIC: "vfat", 0x2fc12fc1: "zfs",
	unix.F2FS_SUPER_MAGIC: "f2fs",
}

func fileSystem(path string) (FileSystem, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return FileSystem{}, fmt.Errorf("statfs %s: %w", path, err)
	}
	block := uint64(max(s.Bsize, 0))
	return FileSystem{
		Kind:     fileSystems[int64(s.Type)&0xffffffff], //nolint:unconvert // another type on other architectures
		ReadOnly: s.Flags&unix.ST_RDONLY != 0,
		Size:     s.Blocks * block, Free: s.Bavail * block,
		Files: s.Files, NoFiles: s.Files > 0 && s.Ffree < s.Files/100,
	}, nil
}

// clockState is of adjtimex(2).
func clockState() (synchronized bool, err error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, fmt.Errorf("adjtimex: %w", err)
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, nil
}

func writable(path string) error { return unix.Access(path, unix.W_OK|unix.X_OK) }

// privileged reports whether a bind failed because the port is for privileged processes.
func privileged(err error) bool { return errors.Is(err, unix.EACCES) }
