package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"example.com/ferry/node/config"
)

// lowSpace is the free space below which a node with data on the disk is warned about, in bytes.
const lowSpace = 1 << 30

// What file systems do to stored messages, by their names.
var (
	volatile = []string{"tmpfs", "ramfs"}
	layered  = []string{"overlay"}
	remote   = []string{"nfs", "smb", "cifs", "smb2", "9p", "ceph", "fuse", "afs"}
	modeless = []string{"vfat"}
)

// disk looks at the file systems that the node writes to.
func (x *exam) disk() {
	x.dataDisk()
	if p := x.Node.Proxy; p != nil && p.AccessLog.File != "" && p.AccessLog.File != "-" {
		folder := filepath.Dir(p.AccessLog.File)
		if fs, err := x.Machine.FileSystem(folder); err == nil {
			x.space(fs, folder, x.at("proxy.access_log.file"), 0)
		}
	}
	x.fine("the disk of data_dir has room")
}

// dataDisk looks at the file system of data_dir.
func (x *exam) dataDisk() {
	dir, where := x.Node.DataDir, x.at("data_dir")
	existing := existingFolder(dir)
	fs, err := x.Machine.FileSystem(existing)
	if err != nil {
		x.unchecked("the file system of %s is not known: %v", existing, err)
		return
	}
	if fs.ReadOnly {
		x.noDirectory(Finding{What: dir + " is on a file system that is mounted read-only", Where: where, Mend: "name another data_dir, or mount it for writing"})
	}
	atLeastOnce := slices.ContainsFunc(x.Node.Streams, func(s config.Stream) bool { return s.Delivery == config.AtLeastOnce })
	stored := x.Node.Engine.OnDisk() && len(x.Node.Streams) > 0
	waiting := len(x.Node.Forward)+len(x.Node.Bridges) > 0
	is := func(kinds []string) bool { return slices.Contains(kinds, fs.Kind) }
	switch {
	case is(volatile) && stored && atLeastOnce:
		x.fault(Finding{
			What: fmt.Sprintf("streams are delivered at least once, and %s is on %s", dir, fs.Kind), Where: where,
			Why: "stored messages that were acknowledged are lost when the machine restarts, and fill the memory until then", Mend: "name a data_dir on a disk",
		})
	case is(volatile):
		x.warning(Finding{
			What: fmt.Sprintf("%s is on %s", dir, fs.Kind), Where: where,
			Why:  "after a restart of the machine the node has another certificate authority and token, and clients that trust the old ones fail",
			Mend: "name a data_dir on a disk",
		})
	case is(layered) && (stored || waiting):
		x.warning(Finding{
			What: fmt.Sprintf("%s is in the writable layer of a container (%s)", dir, fs.Kind), Where: where,
			Why: "streams, certificate authority and token go when the container is removed", Mend: "mount a volume there: -v ferry-data:" + absolute(dir),
		})
	case is(remote) && (stored || waiting):
		x.warning(Finding{
			What: fmt.Sprintf("%s is on a network file system (%s)", dir, fs.Kind), Where: where,
			Why:  "publishers wait for the network with each write; a file lock may not hold, and some of these file systems lose what was synced",
			Mend: "name a data_dir on a local disk, or use engine: {address: nats://...} for streams on several machines",
		})
	case is(modeless):
		x.fault(Finding{
			What: fmt.Sprintf("%s is on %s, which has no permissions", dir, fs.Kind), Where: where,
			Why: "every user may read the keys and the token of the node", Mend: "name a data_dir on another file system",
		})
	}
	x.space(fs, dir, where, x.stores())
}

// space reports a file system that is full or nearly so. needs is how much the configuration lets the node store there, in bytes.
func (x *exam) space(fs FileSystem, path, where string, needs uint64) {
	why := "publishers of stored streams wait, and links and bridges drop messages"
	switch {
	case fs.Size == 0:
	case fs.Free < 64<<20:
		x.fault(Finding{What: fmt.Sprintf("%s is full: %s free", path, human(fs.Free)), Where: where, Why: why, Mend: "make room: df -h " + path + ", du -sh " + path + "/*"})
	case fs.Free < needs:
		x.warning(Finding{
			What: fmt.Sprintf("streams and spools may grow to %s, and %s has %s free", human(needs), path, human(fs.Free)), Where: where, Why: "when the disk is full, " + why,
			Mend: "lower retention.size of the streams and spool.size of links and bridges, or use a larger disk",
		})
	case fs.Free < lowSpace && fs.Free < fs.Size/20:
		x.warning(Finding{What: fmt.Sprintf("%s has %s free of %s", path, human(fs.Free), human(fs.Size)), Where: where, Why: "when the disk is full, " + why, Mend: "make room, or use a larger disk"})
	}
	if fs.NoFiles {
		x.fault(Finding{What: path + " has hardly any inodes left", Where: where, Why: "the node cannot create files, as if the disk were full", Mend: "remove small files: df -i " + path})
	}
}

// defaultSpool is what an absent spool.size means, in bytes.
const defaultSpool = 1 << 30

// stores returns the bytes that the configuration lets the node store below data_dir. Streams without a bound are not counted.
func (x *exam) stores() (sum uint64) {
	if x.Node.Engine.OnDisk() {
		for _, s := range x.Node.Streams {
			if s.Storage == config.StorageFile {
				sum += uint64(s.Retention.Size)
			}
		}
	}
	spool := func(s config.Spool) uint64 {
		if s.Size == 0 {
			return defaultSpool
		}
		return uint64(s.Size)
	}
	for _, f := range x.Node.Forward {
		sum += spool(f.Spool)
	}
	for _, b := range x.Node.Bridges {
		if len(b.Out) > 0 {
			sum += spool(b.Spool)
		}
	}
	return sum
}

// existingFolder returns the folder, or the closest one above it that exists.
func existingFolder(dir string) string {
	for dir = absolute(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// absolute returns the absolute path of a file.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
