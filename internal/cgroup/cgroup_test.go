package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if got := Files(root, "cpu", "cpu.max", ""); got != nil {
		t.Errorf("without /proc: %q, want none", got)
	}
	if err := os.MkdirAll(filepath.Join(root, "proc/self"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/self/cgroup"), []byte("4:cpu,cpuacct:/old\n0::/a/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(root, "sys/fs/cgroup")
	want := []string{at + "/a/b/cpu.max", at + "/a/cpu.max", at + "/cpu.max"}
	if got := Files(root, "cpu", "cpu.max", ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = append([]string{at + "/cpu/old/quota", at + "/cpu/quota"}, want...)
	if got := Files(root, "cpu", "cpu.max", "quota"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
