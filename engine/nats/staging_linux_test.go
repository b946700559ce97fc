package nats

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// stagingRig is a directory that stands for the memory, and one of a store with a JetStream stream.
type stagingRig struct {
	t                    *testing.T
	memory, dir, streams string
}

func newStagingRig(t *testing.T) *stagingRig {
	t.Helper()
	r := &stagingRig{t: t, memory: t.TempDir(), dir: t.TempDir()}
	r.streams = filepath.Join(r.dir, "streams")
	if err := os.MkdirAll(filepath.Join(r.streams, "ferry-a"), 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *stagingRig) open() *staging {
	r.t.Helper()
	s := openStaging(r.memory, r.dir, r.streams, slog.New(slog.DiscardHandler))
	if s == nil {
		r.t.Fatal("there is no staging")
	}
	return s
}

// stage writes a file as the server does when it stages a batch.
func (r *stagingRig) stage() {
	r.t.Helper()
	dir := filepath.Join(r.streams, "ferry-a", batchesDir, "batch")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "1.blk"), []byte("x"), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// recover removes the directory of batches as the server does when it starts.
func (r *stagingRig) recover() {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.streams, "ferry-a", batchesDir)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *stagingRig) staged(root string) bool {
	_, err := os.Stat(filepath.Join(root, "ferry-a", "batch", "1.blk"))
	return err == nil
}

func (r *stagingRig) expectRoots(want int) {
	r.t.Helper()
	roots, err := filepath.Glob(filepath.Join(r.memory, "*"))
	if err != nil || len(roots) != want {
		r.t.Errorf("the memory has %v, %v, want %d directories", roots, err, want)
	}
}

func TestBatchesAreStagedInMemory(t *testing.T) {
	r := newStagingRig(t)
	s := r.open()
	s.begin()
	s.choose("ferry-a", 1)
	r.stage()
	if !r.staged(s.root) {
		t.Error("the batch is not in memory")
	}
	r.recover()
	s.begin() // the server has started again
	if r.staged(s.root) {
		t.Error("the batch of the earlier server is left")
	}
	s.choose("ferry-a", math.MaxInt64/2)
	r.stage()
	if r.staged(s.root) {
		t.Error("the batch is in memory, which has no room for it")
	}
	s.choose("ferry-a", 1)
	if s.linked["ferry-a"] {
		t.Error("the directory with a batch on the disk was replaced")
	}
	r.recover()
	s.choose("ferry-a", 1)
	s.forget("ferry-a") // removed and created again
	r.recover()
	s.choose("ferry-a", 1)
	r.stage()
	if !r.staged(s.root) {
		t.Error("the batch of the next stream with the name is not in memory")
	}
	s.choose("ferry-memory", 1) // a stream without a directory
	r.recover()
	if err := os.RemoveAll(filepath.Join(s.root, "ferry-a", "batch")); err != nil {
		t.Fatal(err)
	}
	s.close()
	r.expectRoots(0)
	if _, err := os.Lstat(s.link); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link to the memory is left: %v", err)
	}
}

// A process that was killed leaves its batches. The next one on the same store keeps them until the server has completed them.
func TestStagedBatchesOutliveTheProcess(t *testing.T) {
	r := newStagingRig(t)
	killed := r.open()
	killed.begin()
	killed.choose("ferry-a", 1)
	r.stage()
	killed.lock.Close()

	other := newStagingRig(t)
	other.memory = r.memory
	o := other.open()
	if !r.staged(killed.root) {
		t.Error("a process with another store has removed the batch")
	}
	o.close()

	s := r.open()
	if !r.staged(killed.root) {
		t.Error("the batch is gone before the server has started")
	}
	r.recover()
	s.begin()
	if r.staged(killed.root) {
		t.Error("the batch is left")
	}
	r.expectRoots(1)
	s.choose("ferry-a", 1)
	r.stage()
	s.close() // a batch that the server could not complete
	r.expectRoots(1)
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	other.open().close() // the store is gone: nothing needs the batch
	r.expectRoots(0)
}

func TestStagingOfARunningProcessStays(t *testing.T) {
	r := newStagingRig(t)
	s := r.open()
	other := newStagingRig(t)
	other.memory = r.memory
	other.open().close()
	r.expectRoots(1)
	s.close()
	r.expectRoots(0)
}

func TestNoMemoryToStageIn(t *testing.T) {
	r := newStagingRig(t)
	if s := openStaging("", r.dir, r.streams, slog.New(slog.DiscardHandler)); s != nil {
		t.Error("there is a staging without memory")
	}
	if s := openStaging(filepath.Join(r.memory, "none"), r.dir, r.streams, slog.New(slog.DiscardHandler)); s != nil {
		t.Error("there is a staging in a directory that does not exist")
	}
	var none *staging
	none.begin()
	none.choose("ferry-a", 1)
	none.forget("ferry-a")
	none.close()
}

// Other users can write to the memory, too: what they leave there is not touched.
func TestDirectoriesOfOthersStay(t *testing.T) {
	r := newStagingRig(t)
	foreign := filepath.Join(r.memory, stagingPrefix+"foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, stagingOwner), []byte("/nowhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(r.dir, "made"), filepath.Join(foreign, stagingLock)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(foreign, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(foreign, filepath.Join(r.memory, stagingPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	r.open().close()
	r.expectRoots(2)
	if _, err := os.Stat(filepath.Join(r.dir, "made")); err == nil {
		t.Error("a file was made where another user wants it")
	}
}

// After a start of the machine, another user can have made the directory that a link of the store leads to.
func TestBatchesOfOthersAreNotRead(t *testing.T) {
	r := newStagingRig(t)
	killed := r.open()
	killed.begin()
	killed.choose("ferry-a", 1)
	killed.lock.Close()
	r.stage()
	if err := os.Chmod(killed.root, 0o777); err != nil {
		t.Fatal(err)
	}
	r.open().close()
	if _, err := os.Lstat(filepath.Join(r.streams, "ferry-a", batchesDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the server would read what another user can write: %v", err)
	}
}
