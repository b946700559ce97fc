//go:build linux

package spool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/ferry"
	"example.com/ferry/internal/disktest"
	"example.com/ferry/link/spool"
)

// TestPowerLost: with Sync, each message that Append has accepted survives the loss of power. Without Sync the latest ones may be
// lost. The messages of the next process are read in either case, and none has an ID that another one had.
func TestPowerLost(t *testing.T) {
	disk := disktest.Mount(t, disktest.Config{})
	for _, durable := range []bool{true, false} {
		cfg := spool.Config{Dir: filepath.Join(disk.Dir, fmt.Sprint(durable)), MaxBytes: 4000, Sync: durable}
		ids := map[string]string{}
		next := 0
		for range 5 {
			s := open(t, cfg)
			var damage *spool.CorruptError
			if _, err := s.Read(ended(), 1); errors.As(err, &damage) && durable {
				t.Fatalf("with Sync: %v", err)
			}
			s.Rewind()
			add(t, s, numbered(next, next+7)...)
			next += 7
			got, gotIDs := readAll(t, s, 1000)
			if durable && !equal(got, numbered(0, next)) {
				t.Fatalf("with Sync: got %q, want %d messages", got, next)
			}
			if len(got) < 7 || !equal(got[len(got)-7:], numbered(next-7, next)) {
				t.Fatalf("sync %v: the last messages are %q", durable, got)
			}
			for i, id := range gotIDs {
				if ids[id] != "" && ids[id] != got[i] {
					t.Fatalf("sync %v: %q and %q have one ID", durable, ids[id], got[i])
				}
				ids[id] = got[i]
			}
			_ = s.Close()
			disk.LosePower()
		}
	}
}

// TestPowerLostBehindOldPosition: the disk has an old position, and the files behind it were removed. That is no damage.
func TestPowerLostBehindOldPosition(t *testing.T) {
	disk := disktest.Mount(t, disktest.Config{})
	cfg := spool.Config{Dir: disk.Dir, MaxBytes: 4000, Sync: true}
	s := open(t, cfg)
	add(t, s, numbered(0, 30)...)
	if _, err := s.Read(ended(), 4000); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(1); err != nil {
		t.Fatal(err)
	}
	position, err := os.Open(filepath.Join(disk.Dir, "position"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(position.Sync(), position.Close()); err != nil {
		t.Fatal(err)
	}
	for last := uint64(0); last < 20; {
		records, err := s.Read(ended(), 1)
		if err != nil {
			t.Fatal(err)
		}
		last = records[len(records)-1].Index
		if err := s.Advance(last); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Close()
	disk.LosePower()
	s = open(t, cfg)
	records, err := s.Read(ended(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if first := records[0].Index; first < 2 || first > 21 {
		t.Errorf("the first message is %d, want one up to 21", first)
	}
}

// TestDiskFull: while the disk is full, Append fails with an error that says so, and another process reads what is stored. Append succeeds when
// there is room again.
func TestDiskFull(t *testing.T) {
	disk := disktest.Mount(t, disktest.Config{Capacity: 3000})
	s := open(t, spool.Config{Dir: disk.Dir})
	stored := 0
	for ; stored < 1000; stored++ {
		_, err := s.Append(ended(), &ferry.Message{Tag: "a", Payload: fmt.Append(nil, "message ", stored)})
		if err == nil {
			continue
		}
		if !errors.Is(err, spool.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %v, want ErrFull and ENOSPC", err)
		}
		break
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, spool.Config{Dir: disk.Dir})
	if got, _ := readAll(t, s, 500); !equal(got, numbered(0, stored)) {
		t.Fatalf("on the full disk: got %q, want %d messages", got, stored)
	}
	s.Rewind()
	disk.SetCapacity(1 << 20)
	for range 10 {
		add(t, s, fmt.Sprint("message ", stored))
		stored++
	}
	if got, _ := readAll(t, s, 500); stored < 20 || stored > 1000 || !equal(got, numbered(0, stored)) {
		t.Errorf("got %q, want %d messages", got, stored)
	}
}
