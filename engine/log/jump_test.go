package log

import (
	"testing"

	"example.com/ferry/engine"
)

// TestFarNumbers: a Log whose first record has a high number takes neither time nor memory for those before it, and is opened again.
func TestFarNumbers(t *testing.T) {
	const far = 1 << 62
	for _, killed := range []bool{false, true} {
		for name, begin := range map[string]func(*Log){
			"Insert":  func(l *Log) { l.Insert(&engine.Record{Sequence: far, Tag: "a", Payload: []byte("x")}) },
			"Discard": func(l *Log) { l.Discard(Range{1, far - 1}); appendOne(t, l, "a") },
		} {
			d := newDisk()
			l := openDisk(t, d)
			begin(l)
			wait(t, l)
			for next := uint64(far + 1); next < far+3; next++ {
				if s := l.State(); s.First != far || s.Last != next-1 || s.Records != next-far {
					t.Errorf("%s: numbers %d to %d, %d records, want %d to %d", name, s.First, s.Last, s.Records, uint64(far), next-1)
				}
				if killed {
					d = kill(d, l)
				} else {
					if err := l.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
					d = d.restart(true, nil)
				}
				l = openDisk(t, d)
				if s := appendOne(t, l, "a"); s.Sequence != next {
					t.Errorf("%s: number %d is given, want %d", name, s.Sequence, next)
				}
			}
			expectRecords(t, l, "a", far, far+1, far+2)
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
