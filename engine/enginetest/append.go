package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/engine"
)

func testRoundTrip(t *testing.T, f Fixture) {
	s := open(t, f)
	long := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	want := []engine.Record{
		{Tag: "a", Payload: []byte("plain")},
		{Tag: "a/b", Type: ferry.JSON, Validated: true, Time: 1_700_000_000_123_456_789, ID: "order 7/8", Extension: []byte{5, 0, 1, 'k'}, Payload: []byte(`{"id":7}`)},
		{Tag: "a/b", Type: 200, Time: -1, ID: "\xff\x00\r\n: \u00e4"},
		{Tag: "a/\u00fc", Payload: []byte{0, 255, '\r', '\n', 0}, Extension: []byte{0, 1, 2, 255}},
		{Tag: "a/b/c", Type: ferry.CBOR, Payload: long},
	}
	before := time.Now().Add(-time.Second)
	appendAll(t, s, want[:2]...)
	appendAll(t, s, want[2])
	appendAll(t, s, want[3:]...)
	after := time.Now().Add(time.Second)
	got := read(t, openCursor(t, s, fromFirst), len(want))
	last := before.UnixNano()
	for i := range got {
		if got[i].Sequence != uint64(i+1) {
			t.Errorf("record %d has sequence number %d", i+1, got[i].Sequence)
		}
		if got[i].Stored < last || got[i].Stored > after.UnixNano() {
			t.Errorf("record %d was stored at %v, want from %v to %v", i+1, time.Unix(0, got[i].Stored), time.Unix(0, last), after)
		}
		last = got[i].Stored
		got[i].Sequence, got[i].Stored = 0, 0
		if a, b := withoutNil(got[i]), withoutNil(want[i]); !reflect.DeepEqual(a, b) {
			t.Errorf("record %d:\ngot  %.300v\nwant %.300v", i+1, a, b)
		}
	}
	info := infoOf(t, s)
	if info.Records != 5 || info.First != 1 || info.Last != 5 || info.Bytes < uint64(len(long)) || info.Pending != 0 || info.Err != nil {
		t.Errorf("Info = %+v, want 5 records from 1 to 5 and more than %d bytes", info, len(long))
	}
}

// withoutNil replaces nil slices, because an engine need not tell them from empty ones.
func withoutNil(r engine.Record) engine.Record {
	r.Extension, r.Payload = append([]byte{}, r.Extension...), append([]byte{}, r.Payload...)
	return r
}

func testAppendCopies(t *testing.T, f Fixture) {
	s := open(t, f)
	r := []engine.Record{{Tag: "a", Payload: []byte("payload"), Extension: []byte{1, 2}}}
	done := make(chan error, 1)
	s.Append(r, func(err error) { done <- err })
	copy(r[0].Payload, "XXXXXXX")
	copy(r[0].Extension, "YY")
	if r[0].Sequence != 0 || r[0].Stored != 0 {
		t.Errorf("Append changed the caller's record: %+v", r[0])
	}
	r[0] = engine.Record{Tag: "a/other"}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := read(t, openCursor(t, s, fromFirst), 1)[0]
	if got.Tag != "a" || string(got.Payload) != "payload" || string(got.Extension) != "\x01\x02" {
		t.Errorf("the record changed with the caller's memory: %+v", got)
	}
}

func testDoneInOrder(t *testing.T, f Fixture) {
	s := open(t, f)
	const calls = 500
	done := make(chan int, calls)
	bytes := 0
	for i := range calls {
		records := numbered("a", i, i%3) // some calls have no record
		for _, r := range records {
			bytes += len(r.Payload)
		}
		s.Append(records, func(err error) {
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
			done <- i
		})
	}
	if p := s.Pending(); p < 0 || p > bytes {
		t.Errorf("%d bytes are pending of %d", p, bytes)
	}
	for want := range calls {
		select {
		case got := <-done:
			if got != want {
				t.Fatalf("done of call %d comes when that of call %d is due", got, want)
			}
		case <-time.After(timeout):
			t.Fatalf("done of call %d is missing", want)
		}
	}
	if p := s.Pending(); p != 0 {
		t.Errorf("%d bytes are pending after the last done", p)
	}
}

func testAppendsOverlap(t *testing.T, f Fixture) {
	s := open(t, f)
	const writers, each = 8, 250
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			var stored sync.WaitGroup
			for i := range each {
				stored.Add(1)
				s.Append(numbered(fmt.Sprintf("a/%d", w), i, 1), func(err error) {
					if err != nil {
						t.Errorf("writer %d, record %d: %v", w, i, err)
					}
					stored.Done()
				})
			}
			stored.Wait()
		})
	}
	c := openCursor(t, s, fromFirst)
	next := map[string]int{}
	for i, r := range read(t, c, writers*each) {
		if r.Sequence != uint64(i+1) {
			t.Fatalf("record %d has sequence number %d", i+1, r.Sequence)
		}
		if want := fmt.Sprint(next[r.Tag]); string(r.Payload) != want {
			t.Fatalf("tag %s: record %s comes when %s is due", r.Tag, r.Payload, want)
		}
		next[r.Tag]++
	}
	wg.Wait()
	expectNone(t, c)
}

func testRefusedRecords(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	c.MaxBytes = 256 << 10
	s := openStream(t, f.Engine, c)
	err := tryAppend(t, s,
		engine.Record{Tag: "a/1"},
		engine.Record{Tag: "b/1"},
		engine.Record{Tag: "a/2"},
		engine.Record{Tag: "a/+"},
		engine.Record{Tag: ""},
		engine.Record{Tag: "a/large", Payload: make([]byte, 300<<10)},
		engine.Record{Tag: "a/3"},
	)
	var refused *engine.AppendError
	if !errors.As(err, &refused) || refused.Stream != "records" || !slices.Equal(refused.Refused, []int{1, 3, 4, 5}) || refused.Why == "" {
		t.Fatalf("done gets %v, want an AppendError of records 1, 3, 4 and 5", err)
	}
	appendAll(t, s, engine.Record{Tag: "a/4"})
	var tags []string
	for _, r := range read(t, openCursor(t, s, fromFirst), 4) {
		tags = append(tags, r.Tag)
	}
	if got := strings.Join(tags, " "); got != "a/1 a/2 a/3 a/4" {
		t.Errorf("the stream has %s, want a/1 a/2 a/3 a/4", got)
	}
}

func testDuplicates(t *testing.T, f Fixture) {
	s := open(t, f)
	record := func(id, payload string) engine.Record {
		return engine.Record{Tag: "a", ID: id, Payload: []byte(payload)}
	}
	appendAll(t, s, record("x", "1"), record("", "2"), record("x", "3"), record("y", "4"), record("", "2"))
	appendAll(t, s, record("y", "5"), record("z", "6"), record("x", "7"))
	appendAll(t, s, record("x", "8"))
	c := openCursor(t, s, fromFirst)
	var got []string
	for _, r := range read(t, c, 5) {
		got = append(got, r.ID+string(r.Payload))
	}
	if want := "x1 2 y4 2 z6"; strings.Join(got, " ") != want {
		t.Errorf("the stream has %v, want %s", got, want)
	}
	expectNone(t, c)
	if _, err := s.Purge(deadline(t), "", 0); err != nil {
		t.Fatalf("Purge: %v", err)
	}
	appendAll(t, s, record("x", "9"))
	if info := infoOf(t, s); info.Records != 0 {
		t.Errorf("a removed record's ID is forgotten: the stream has %d records", info.Records)
	}
}

// testIDsOfTags: an ID belongs to its tag, so that who publishes on one tag cannot take the IDs of another.
func testIDsOfTags(t *testing.T, f Fixture) {
	for _, shared := range []bool{false, true} {
		c := config(f.Engine, fmt.Sprint("shared-", shared), fmt.Sprint(shared, "/#"))
		c.SharedIDs = shared
		s := openStream(t, f.Engine, c)
		record := func(tag, id string) engine.Record {
			return engine.Record{Tag: fmt.Sprint(shared, "/", tag), ID: id}
		}
		appendAll(t, s, record("a", "x"), record("b", "x"), record("a", "x"), record("a/b", "x"))
		appendAll(t, s, record("b", "x"))
		appendAll(t, s, record("a", "y"))
		want, repeated := uint64(4), uint64(2)
		if shared {
			want, repeated = 2, 4
		}
		info := infoOf(t, s)
		if info.Records != want {
			t.Errorf("SharedIDs %v: %d records are stored, want %d", shared, info.Records, want)
		}
		if info.Config.SharedIDs != shared {
			t.Errorf("SharedIDs is %v in the Info of the stream, want %v", info.Config.SharedIDs, shared)
		}
		if counter, ok := s.(engine.DuplicateCounter); ok && counter.Duplicates() != repeated {
			t.Errorf("SharedIDs %v: Duplicates is %d, want %d", shared, counter.Duplicates(), repeated)
		}
	}
}

func testDuplicateWindow(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	c.DuplicateWindow = time.Second
	s := openStream(t, f.Engine, c)
	start := time.Now() // not later than the record is stored
	appendAll(t, s, engine.Record{Tag: "a", ID: "x"})
	await(t, "the record with the same ID is stored again", func() bool {
		appendAll(t, s, engine.Record{Tag: "a", ID: "x"})
		return infoOf(t, s).Last == 2
	})
	if elapsed := time.Since(start); elapsed < c.DuplicateWindow-100*time.Millisecond {
		t.Errorf("the record with the same ID was stored after %v, within the window", elapsed)
	}
}
