package doctor

import (
	"context"
	"net"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Machine is what the checks read of the machine.
type Machine struct {
	OS    string    // as runtime.GOOS
	Root  string    // stands before /proc and /sys
	Built time.Time // when this binary was made; zero if that is not known
	User  int       // effective user; -1 where there are none

	Now         func() time.Time
	Getenv      func(string) string
	MemoryLimit func() int64                                             // GOMEMLIMIT in bytes; math.MaxInt64 if it is not set
	Descriptors func() (uint64, error)                                   // that a process may open
	Clock       func() (synchronized bool, err error)                    // whether a time service sets the clock
	FileSystem  func(path string) (FileSystem, error)                    // of a file or folder that exists
	Writable    func(path string) error                                  // whether this user may create files in a folder
	Listen      func(network, address string) error                      // bind an address, and release it
	Lookup      func(ctx context.Context, host string) error             // find the addresses of a name
	Dial        func(ctx context.Context, network, address string) error // connect, and close the connection
}

// FileSystem is the file system of a path.
type FileSystem struct {
	Kind     string // tmpfs, nfs, ext4 ...; empty for one without a name here
	ReadOnly bool
	Size     uint64 // bytes
	Free     uint64 // bytes for this user
	Files    uint64 // inodes; 0 if the file system has no limit
	NoFiles  bool   // fewer than a hundredth of the inodes are free
}

// This returns the machine that the process runs on.
func This() *Machine {
	return &Machine{
		OS: runtime.GOOS, Root: "/", Built: built(), User: os.Geteuid(),
		Now: time.Now, Getenv: os.Getenv,
		MemoryLimit: func() int64 { return debug.SetMemoryLimit(-1) },
		Descriptors: descriptorLimit, Clock: clockState, FileSystem: fileSystem, Writable: writable,
		Listen: bind,
		Lookup: func(ctx context.Context, host string) error {
			_, err := net.DefaultResolver.LookupHost(ctx, host)
			return err
		},
		Dial: func(ctx context.Context, network, address string) error {
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return err
			}
			return c.Close()
		},
	}
}

// built returns when the version that this binary is of was committed, or else when the file was written.
func built() time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
					return t
				}
			}
		}
	}
	name, err := os.Executable()
	if err != nil {
		return time.Time{}
	}
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// bind binds an address and releases it.
func bind(network, address string) error {
	if network == "udp" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return err
		}
		return c.Close()
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	return l.Close()
}

// text returns the content of a file of /proc or /sys without surrounding space. ok is false if it cannot be read.
func (m *Machine) text(name string) (string, bool) {
	b, err := os.ReadFile(path.Join(m.Root, name))
	return strings.TrimSpace(string(b)), err == nil
}

// number returns the first number in a file of /proc or /sys. ok is false if there is none.
func (m *Machine) number(name string) (n int64, ok bool) {
	text, _ := m.text(name)
	first, _, _ := strings.Cut(text, "\t")
	n, err := strconv.ParseInt(strings.TrimSpace(first), 10, 64)
	return n, err == nil
}
