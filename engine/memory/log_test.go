package memory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/ferry/engine"
)

// TestLogAgainstModel compares a log with a sorted slice, after random appends and removals.
func TestLogAgainstModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			l := newLog()
			l.bound(64 << 10)
			l.trackTags(seed%2 == 0)
			var model []engine.Record
			remove := func(i int) {
				l.remove(l.seek(model[i].Sequence))
				model = slices.Delete(model, i, i+1)
			}
			for step := range 2000 {
				switch n := r.IntN(100); {
				case n < 60 || len(model) == 0:
					record := engine.Record{
						Sequence: l.last + 1, Stored: int64(step), Tag: fmt.Sprint("a/", r.IntN(8)),
						Payload: fmt.Appendf(nil, "%0*d", r.IntN(400)*r.IntN(3), step), Extension: make([]byte, r.IntN(20)),
					}
					l.append(&record, record.Stored, "")
					model = append(model, record)
				case n < 75:
					remove(0)
				case n < 95:
					remove(r.IntN(len(model)))
				case l.perTag:
					record := model[r.IntN(len(model))]
					limit := l.tags[record.Tag].records / 2
					l.boundTag(l.tags[record.Tag], int64(limit))
					of := func(m engine.Record) bool { return m.Tag == record.Tag }
					for excess := countTag(of, model) - limit; excess > 0; excess-- {
						i := slices.IndexFunc(model, of)
						model = slices.Delete(model, i, i+1)
					}
				}
				if step%50 == 0 {
					compare(t, &l, model)
				}
			}
			for len(model) > 0 {
				remove(r.IntN(len(model)))
			}
			compare(t, &l, model)
			if len(l.segments) != 0 || l.bytes != 0 || len(l.tags) != 0 {
				t.Errorf("an empty log has %d segments, %d bytes and %d tags", len(l.segments), l.bytes, len(l.tags))
			}
		})
	}
}

func countTag(of func(engine.Record) bool, records []engine.Record) (n int) {
	for _, r := range records {
		if of(r) {
			n++
		}
	}
	return n
}

func compare(t *testing.T, l *log, model []engine.Record) {
	t.Helper()
	p := l.left(place{})
	var bytes, full int64
	for i, want := range model {
		if l.at(p) == nil {
			t.Fatalf("the log ends after %d of %d records", i, len(model))
		}
		got := l.segments[p.segment].record(p.entry)
		if got.Sequence != want.Sequence || got.Stored != want.Stored || got.Tag != want.Tag || string(got.Payload) != string(want.Payload) || string(got.Extension) != string(want.Extension) {
			t.Fatalf("record %d is %+v, want %+v", i, got, want)
		}
		if l.seek(want.Sequence) != p || l.seekTime(want.Stored) != p {
			t.Fatalf("record %d is at %v, but seek finds %v and seekTime %v", i, p, l.seek(want.Sequence), l.seekTime(want.Stored))
		}
		bytes += costOf(&want)
		p = l.next(p)
	}
	if e := l.at(p); e != nil {
		t.Fatalf("the log has record %d behind the last one of the model", e.sequence)
	}
	if l.records != uint64(len(model)) || l.bytes != bytes {
		t.Fatalf("the log counts %d records and %d bytes, want %d and %d", l.records, l.bytes, len(model), bytes)
	}
	if len(model) > 0 {
		i := len(model) / 2
		if got := l.countAll(model[i].Sequence); got != uint64(len(model)-i-1) {
			t.Fatalf("%d records are above %d, want %d", got, model[i].Sequence, len(model)-i-1)
		}
	}
	for _, s := range l.segments {
		full += s.used
	}
	if limit := 3*bytes + 4*l.segmentCost; full > limit {
		t.Fatalf("%d bytes of records are in segments of %d bytes, want at most %d", bytes, full, limit)
	}
}
