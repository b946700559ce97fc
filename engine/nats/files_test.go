//go:build !windows

package nats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry"
	"example.com/ferry/engine"
)

const blockRecords = 1100 // records of 4000 bytes that fill a block

// fill appends records of different forms, to three complete blocks and one more.
func (r *rig) fill() {
	r.t.Helper()
	payload := []byte(strings.Repeat("x", 4000))
	var records []engine.Record
	for i := range 3*blockRecords + 100 {
		record := engine.Record{Tag: fmt.Sprint("orders/", i%7), Type: ferry.JSON, Validated: i%2 == 0, Time: int64(i), Payload: payload}
		switch i % 5 {
		case 1:
			record.ID = fmt.Sprint("id ", i)
		case 2:
			record.Extension = fmt.Append(nil, "extension ", i)
		case 3:
			record.Tag = fmt.Sprintf("orders/a.b/%d", i)
		}
		records = append(records, record)
	}
	done := make(chan error, 1)
	r.s.Append(records, func(err error) { done <- err })
	r.await(done)
	for i := range 3 {
		m := natsgo.Msg{Subject: "ferry.orders.raw", Data: payload}
		if i == 2 {
			m.Header = natsgo.Header{"Other": []string{"1", "2"}, hdrMsgID: []string{"raw"}}
		}
		if _, err := r.e.write.RequestMsg(&m, patience); err != nil {
			r.t.Fatal(err)
		}
	}
	r.await(r.append(0, blockRecords, 4000))
}

// reading is what a cursor has read.
type reading struct {
	records   []engine.Record
	reported  []uint64 // damaged
	fromFiles int
}

// read reads to the record last, from files as far as that goes, or with a consumer only. After each call of Next it calls each.
func (r *rig) read(filter string, files bool, last uint64, each func(*reading)) *reading {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	opened, err := r.s.Cursor(ctx, engine.CursorConfig{Filter: filter, Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		r.t.Fatal(err)
	}
	c := opened.(*cursor)
	if !files {
		c.filesFrom = math.MaxUint64
	}
	all := &reading{}
	for c.reader.next <= last {
		records, err := c.Next(ctx, 500, 1<<20)
		var corrupt *engine.CorruptError
		switch {
		case errors.As(err, &corrupt):
			all.reported = append(all.reported, corrupt.Sequence)
		case err != nil:
			r.t.Fatalf("Next behind %d: %v", c.reader.next-1, err)
		}
		if c.files != nil {
			all.fromFiles += len(records)
		}
		for _, record := range records {
			record.Payload = append([]byte(nil), record.Payload...)
			all.records = append(all.records, record)
		}
		if each != nil {
			each(all)
		}
	}
	if err := c.Close(ctx); err != nil {
		r.t.Error(err)
	}
	if c.files != nil {
		r.t.Error("the file is open after Close")
	}
	return all
}

// last returns the last record of the stream that a filter matches: a reader waits behind it.
func (r *rig) last() uint64 {
	r.t.Helper()
	info, err := r.s.Info(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return info.Last
}

// Files have the records that a consumer delivers, and no others.
func TestFilesAndConsumerAgree(t *testing.T) {
	r := newRig(t, EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval})
	r.fill()
	for _, sequence := range []uint64{1, 2, 100, blockRecords - 1, blockRecords, 2*blockRecords + 1, 2*blockRecords + 2} {
		if err := r.s.Remove(t.Context(), sequence); err != nil {
			t.Fatal(err)
		}
	}
	last := r.last()
	for _, filter := range []string{"", "orders/#", "orders/+", "orders/a"} {
		want := r.read(filter, false, last, nil)
		got := r.read(filter, true, last, nil)
		if len(got.records) != len(want.records) {
			t.Errorf("filter %q: files and consumer have %d records, the consumer alone %d", filter, len(got.records), len(want.records))
			continue
		}
		for i := range got.records {
			if !reflect.DeepEqual(got.records[i], want.records[i]) {
				t.Fatalf("filter %q: record %d: files have %+v, the consumer %+v", filter, i, got.records[i], want.records[i])
			}
		}
		if got.fromFiles < 2*blockRecords/7 {
			t.Errorf("filter %q: %d records are from files", filter, got.fromFiles)
		}
		if len(got.reported) > 0 || want.fromFiles > 0 {
			t.Errorf("filter %q: %v are reported, %d of the consumer's are from files", filter, got.reported, want.fromFiles)
		}
	}
}

// The server removes blocks, by retention or at a purge, while a cursor reads them.
func TestBlocksAreRemovedWhileTheyAreRead(t *testing.T) {
	for _, row := range []struct {
		name   string
		remove func(r *rig)
	}{
		{"purge", func(r *rig) {
			if _, err := r.s.Purge(r.t.Context(), "", 2*blockRecords+blockRecords/2); err != nil {
				r.t.Fatal(err)
			}
		}},
		{"retention", func(r *rig) {
			if _, err := r.e.Open(r.t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}, MaxRecords: 2 * blockRecords}); err != nil {
				r.t.Fatal(err)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval})
			r.await(r.append(0, 4*blockRecords, 4000))
			removed := false
			got := r.read("", true, 4*blockRecords, func(so *reading) {
				if len(so.records) > 200 && !removed {
					removed = true
					row.remove(r)
				}
			})
			before := uint64(0)
			for _, record := range got.records {
				number, _, _ := strings.Cut(string(record.Payload), " ")
				if record.Sequence <= before || number != fmt.Sprint(record.Sequence-1) {
					t.Fatalf("record %d behind %d has the number %s", record.Sequence, before, number)
				}
				before = record.Sequence
			}
			if before != 4*blockRecords || !removed {
				t.Errorf("the last record is %d, want %d", before, 4*blockRecords)
			}
			if len(got.reported) > 0 {
				t.Errorf("removed records are reported as damaged: %v", got.reported)
			}
			if got.fromFiles == 0 {
				t.Error("no record is from files")
			}
		})
	}
}

// A bit flips in a payload, or in a length, which costs the rest of the block. Files are read up to the damage and behind it, and
// the cursor reports what is damaged.
func TestDamageInOneOfTheBlocks(t *testing.T) {
	for _, row := range []struct {
		name, filter string
		offset       int // in the record
		files        int // so many records must come from files
	}{
		{"payload", "", 300, 5 * blockRecords},
		{"payload, with a filter", "orders/a", 300, 5 * blockRecords},
		{"length", "", 1, 4 * blockRecords},
		{"length, with a filter", "orders/a", 1, 4 * blockRecords},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			config := EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval}
			r := newRig(t, config)
			const records = 6 * blockRecords
			run := make([]engine.Record, records)
			for i := range run {
				run[i] = engine.Record{Tag: "orders/a", Payload: fmt.Appendf(nil, "%04000d", i)}
			}
			done := make(chan error, 1)
			r.s.Append(run, func(err error) { done <- err })
			r.await(done)
			r.close()
			damageRecord(t, config.Dir, 1000, row.offset)
			r = newRig(t, config)
			got := r.read(row.filter, true, records, nil)
			lost := 1
			state, err := r.s.(*stream).state(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range r.s.(*stream).lost(state) {
				lost = int(l.Count)
			}
			t.Logf("%d records lost, %v reported, %d from files", lost, got.reported, got.fromFiles)
			if len(got.records)+lost != records || len(got.reported) != 1 {
				t.Errorf("%d records are served and %v reported, want %d in all", len(got.records), got.reported, records)
			}
			if got.fromFiles < row.files {
				t.Errorf("%d of %d records are from files", got.fromFiles, records)
			}
		})
	}
}

// damageRecord flips a bit of a record of the second block.
func damageRecord(t *testing.T, dir string, record, offset int) {
	t.Helper()
	path := filepath.Join(blockDir(dir), "2.blk")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newBlockParser("ferry-orders", 2)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for range record {
		_, n, err := parser.next(text[at:])
		if err != nil {
			t.Fatal(err)
		}
		at += n
	}
	text[at+offset] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is in a block, but not committed yet, is not delivered.
func TestUncommittedRecordsAreNotRead(t *testing.T) {
	r := newRig(t, EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval})
	r.await(r.append(0, 2*blockRecords, 4000))
	f, err := openFiles(t.Context(), r.s.(*stream), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.committed = 3
	for next := uint64(1); ; next++ {
		record, n, err := f.record(next)
		if next == 4 {
			if !errors.Is(err, errStale) {
				t.Errorf("behind the last committed record: %+v, %v", record, err)
			}
			return
		}
		if err != nil || record.Sequence != next {
			t.Fatalf("record %d: %+v, %v", next, record, err)
		}
		f.take(n)
	}
}
