//go:build linux

package disktest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func writeTo(t *testing.T, name string, flags int, text string, sync bool) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|flags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

func expectFile(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s has %q, want %q", filepath.Base(name), got, want)
	}
}

func TestPowerFailure(t *testing.T) {
	d := Mount(t, Config{})
	name := func(s string) string { return filepath.Join(d.Dir, s) }
	if err := os.Mkdir(name("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeTo(t, name("synced"), 0, "synced", true)
	writeTo(t, name("unsynced"), 0, "unsynced", false)
	writeTo(t, name("o_sync"), os.O_SYNC, "o_sync", false)
	writeTo(t, name("o_dsync"), syscall.O_DSYNC, "o_dsync", false)
	writeTo(t, name("dir/appended"), 0, "first", true)
	writeTo(t, name("dir/appended"), os.O_APPEND, " second", false)
	writeTo(t, name("dir/both"), 0, "unsynced", false)
	writeTo(t, name("dir/both"), os.O_SYNC, "SYNC", false)
	writeTo(t, name("dir/truncated"), 0, "before", true)
	writeTo(t, name("dir/truncated"), os.O_TRUNC, "x", false)
	writeTo(t, name("dir/temporary"), 0, "unsynced", false)
	if err := os.Rename(name("dir/temporary"), name("dir/renamed")); err != nil {
		t.Fatal(err)
	}
	writeTo(t, name("dir/temporary"), 0, "linked", true)
	if err := os.Link(name("dir/temporary"), name("linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name("dir/temporary")); err != nil {
		t.Fatal(err)
	}
	expectFile(t, name("linked"), "linked")
	if info, err := os.Stat(name("linked")); err != nil || info.Mode() != 0o600 || info.Size() != 6 {
		t.Errorf("Stat: %v, %v, want 6 bytes with mode 0600", info, err)
	}
	expectFile(t, name("dir/appended"), "first second")
	expectFile(t, name("dir/both"), "SYNCnced")
	expectFile(t, name("dir/renamed"), "unsynced")

	if lost := d.LosePower(); lost == 0 {
		t.Error("no byte is lost")
	}
	expectFile(t, name("synced"), "synced")
	expectFile(t, name("unsynced"), "")
	expectFile(t, name("o_sync"), "o_sync")
	expectFile(t, name("o_dsync"), "o_dsync")
	expectFile(t, name("dir/appended"), "first")
	expectFile(t, name("dir/both"), "SYNC")
	expectFile(t, name("dir/truncated"), "before")
	expectFile(t, name("dir/renamed"), "")
	if lost := d.LosePower(); lost != 0 {
		t.Errorf("the second power failure loses %d bytes", lost)
	}
}

func TestFullDisk(t *testing.T) {
	d := Mount(t, Config{Capacity: 100 << 10})
	name := filepath.Join(d.Dir, "file")
	if err := os.WriteFile(name, make([]byte, 90<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(d.Dir, "other")
	if err := os.WriteFile(other, make([]byte, 20<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("writing 20 KiB more: %v, want ENOSPC", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("x"), 20<<10)
	if err := os.WriteFile(other, want, 0o600); err != nil {
		t.Fatalf("after a file is removed: %v", err)
	}
	expectFile(t, other, string(want))
	if used := d.Used(); used != 20<<10 {
		t.Errorf("%d bytes are used, want %d", used, 20<<10)
	}
	d.SetCapacity(0)
	writeTo(t, other, 0, "overwritten", true) // needs no more room
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.Dir, &s); err != nil || s.Bavail != 0 {
		t.Errorf("Statfs: %d blocks are available, %v, want 0", s.Bavail, err)
	}
	d.SetCapacity(1 << 20)
	if err := os.WriteFile(name, make([]byte, 500<<10), 0o600); err != nil {
		t.Errorf("after the disk has grown: %v", err)
	}
}

func TestFlip(t *testing.T) {
	d := Mount(t, Config{})
	if err := os.Mkdir(filepath.Join(d.Dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(d.Dir, "dir", "file")
	writeTo(t, name, 0, "abc", true)
	writeTo(t, name, os.O_APPEND, "def", false)
	if err := d.Flip("dir/file", 1); err != nil {
		t.Fatal(err)
	}
	expectFile(t, name, "accdef")
	d.LosePower()
	expectFile(t, name, "acc")
	if d.Flip("dir/file", 3) == nil || d.Flip("dir", 0) == nil || d.Flip("other", 0) == nil {
		t.Error("Flip of no byte succeeds")
	}
}
