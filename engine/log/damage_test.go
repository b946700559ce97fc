package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/engine"
)

func openDisk(t *testing.T, d *disk) *Log {
	t.Helper()
	l, err := Open(Config{Store: d, SegmentSize: 64 << 10})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return l
}

// fill appends n records of about 100 bytes, each in a group of its own.
func fill(t *testing.T, l *Log, n int) {
	t.Helper()
	for range n {
		sequence := l.Append(&engine.Record{Tag: "a", Payload: []byte(strings.Repeat("x", 100))}, time.Now().UnixNano())
		wait(t, l)
		if sequence == 0 {
			t.Fatal("number 0 was given")
		}
	}
}

func wait(t *testing.T, l *Log) {
	t.Helper()
	done := make(chan error, 1)
	l.Commit(func(err error) { done <- err })
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("Commit: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Commit did not end within a minute")
	}
}

// readAll returns the numbers of the records that are read and of those that are damaged.
func readAll(t *testing.T, l *Log) (read, lost []uint64) {
	t.Helper()
	r := l.Reader(1, nil)
	defer r.Close()
	for {
		v, err := r.Read(true)
		var damage *DamageError
		switch {
		case err == nil:
			read = append(read, v.Sequence())
		case errors.As(err, &damage):
			lost = append(lost, damage.Sequence)
		case errors.Is(err, io.EOF):
			return read, lost
		default:
			t.Fatal(err)
		}
	}
}

func kill(d *disk, l *Log) *disk {
	next := d.restart(false, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.Close(ctx) // its disk is gone
	return next
}

// only returns the one segment of a disk.
func only(t *testing.T, d *disk) *content {
	t.Helper()
	if len(d.files) != 1 {
		t.Fatalf("%d files, want one segment", len(d.files))
	}
	for _, c := range d.files {
		return c
	}
	return nil
}

// TestDamage flips a bit at places of a segment, which its process has sealed or not. All other records are read, and the damaged ones
// are named; only what is behind the last intact record of a segment that was not sealed may be a torn tail.
func TestDamage(t *testing.T) {
	const records = 40
	for _, sealed := range []bool{true, false} {
		d := newDisk()
		l := openDisk(t, d)
		fill(t, l, records)
		if sealed {
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			d = d.restart(false, nil)
		} else {
			d = kill(d, l)
		}
		size := len(only(t, d).data)
		for at := 0; at < size; at += 7 {
			copied := d.restart(false, nil)
			only(t, copied).data[at] ^= 4
			l := openDisk(t, copied)
			read, lost := readAll(t, l)
			all := slices.Concat(read, lost)
			slices.Sort(all)
			switch {
			case len(lost) > 1:
				t.Fatalf("sealed %v: a bit at %d costs records %d", sealed, at, lost)
			case !sealed && len(all) == records-1 && all[records-2] == records-1: // the last record is torn
			case len(all) != records || all[0] != 1 || all[records-1] != records:
				t.Fatalf("sealed %v: with a bit flipped at %d of %d, records %d are read and %d lost", sealed, at, size, read, lost)
			}
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTornPages: the power fails during a sync, and chance says which pages were written. What was confirmed is there, and what is
// missing between other records is named.
func TestTornPages(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := newDisk()
		l := openDisk(t, d)
		const confirmed = 10
		fill(t, l, confirmed)
		d.mu.Lock()
		d.failSyncs = 1 << 30
		d.mu.Unlock()
		for range 30 {
			l.Append(&engine.Record{Tag: "b", Payload: make([]byte, 100)}, 1)
		}
		l.Commit(func(error) {})
		for len(d.written()) == 0 {
			time.Sleep(time.Millisecond)
		}
		next := d.restart(true, r)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = l.Close(ctx) // its disk is gone
		l = openDisk(t, next)
		read, lost := readAll(t, l)
		if len(read) < confirmed || read[confirmed-1] != confirmed {
			t.Fatalf("seed %d: records %d are read, %d lost: the first %d were confirmed", seed, read, lost, confirmed)
		}
		fill(t, l, 1)
		again, _ := readAll(t, l)
		if len(again) != len(read)+1 {
			t.Fatalf("seed %d: records %d are read after one more, %d before", seed, again, read)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// written returns the files whose sync has failed.
func (d *disk) written() []*content {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*content
	for c := range d.syncs {
		all = append(all, c)
	}
	return all
}

// TestLostSegment: a file that is gone is damage, not a removal.
func TestLostSegment(t *testing.T) {
	d := newDisk()
	l := openDisk(t, d)
	fill(t, l, 1000) // about three segments
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	d = d.restart(false, nil)
	names, _ := d.List()
	if len(names) < 3 {
		t.Fatalf("%d segments, want 3", len(names))
	}
	if err := d.Remove(names[1]); err != nil {
		t.Fatal(err)
	}
	l = openDisk(t, d)
	defer l.Close(t.Context())
	read, lost := readAll(t, l)
	if len(read)+len(lost) != 1000 || len(lost) == 0 || lost[len(lost)-1]-lost[0] != uint64(len(lost)-1) {
		t.Errorf("%d records are read, %d lost, want 1000 together", len(read), len(lost))
	}
}

// TestOtherVersion: a segment of another version is refused, not read as damage.
func TestOtherVersion(t *testing.T) {
	d := newDisk()
	l := openDisk(t, d)
	fill(t, l, 1)
	d = kill(d, l)
	for name := range d.files {
		s, _ := parseName(name)
		b := s.header()
		b[11] = 9
		copy(only(t, d).data, sumHeader(b))
	}
	if _, err := Open(Config{Store: d, SegmentSize: 64 << 10}); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("Open: %v, want an error that names the version", err)
	}
}

// FuzzSegment reads a segment with any bytes: no panic, no record that was not appended, and Open reads again what it has sealed.
func FuzzSegment(f *testing.F) {
	const salt, name = 7, "00000000000000000001-00000001-00000007.log"
	s, _ := parseName(name)
	b := s.header()
	for i := range uint64(3) {
		b = appendMessage(b, salt, &engine.Record{Sequence: i + 1, Tag: "a/b", ID: "id", Payload: []byte("payload"), Extension: []byte{1}})
	}
	f.Add(b)
	f.Add(appendFrame(b, salt, frame{kind: removed, body: appendRanges(nil, []Range{{1, 2}})}))
	s.last, s.size = 3, int64(len(b))
	f.Add(s.appendSummary(slices.Clone(b), s.size))
	f.Add(b[:len(b)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDisk()
		d.files[name] = &content{data: slices.Clone(data)}
		l, err := Open(Config{Store: d, SegmentSize: 64 << 10})
		if err != nil {
			return
		}
		read := readSome(t, l)
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		l, err = Open(Config{Store: d, SegmentSize: 64 << 10})
		if err != nil {
			t.Fatalf("what was opened does not open again: %v", err)
		}
		if again := readSome(t, l); !slices.Equal(read, again) {
			t.Errorf("records %d are read, and then %d", read, again)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(fmt.Errorf("close: %w", err))
		}
	})
}

// readSome is readAll that ends after some damaged records: a number can be large.
func readSome(t *testing.T, l *Log) (read []uint64) {
	t.Helper()
	r := l.Reader(1, nil)
	defer r.Close()
	for lost := 0; lost < 1000; {
		v, err := r.Read(true)
		var damage *DamageError
		switch {
		case err == nil:
			read = append(read, v.Sequence())
		case errors.As(err, &damage):
			lost++
		default:
			return read
		}
	}
	return read
}
