package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/ferry"
	"example.com/ferry/engine"
)

// fakeStream is a stream with gaps and damaged records. Its cursors fail the test where a real one would wait for ever.
type fakeStream struct {
	engine.Stream // methods that reading does not use
	t             *testing.T
	last          uint64
	records       []engine.Record // in order
	damaged       map[uint64]bool
	open          int // cursors
}

// gappy returns a stream with the records of these sequence numbers, whose tags are a/0 to a/9 by the last digit.
func gappy(t *testing.T, last uint64, sequences ...uint64) *fakeStream {
	s := &fakeStream{t: t, last: last, damaged: map[uint64]bool{}}
	for _, n := range sequences {
		s.records = append(s.records, engine.Record{Sequence: n, Tag: fmt.Sprintf("a/%d", n%10), Type: ferry.Raw, Payload: []byte("x")})
	}
	return s
}

func upTo(n uint64) (all []uint64) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func (s *fakeStream) Info(context.Context) (engine.Info, error) {
	info := engine.Info{Records: uint64(len(s.records)), First: s.last + 1, Last: s.last}
	if len(s.records) > 0 {
		info.First = s.records[0].Sequence
	}
	return info, nil
}

func (s *fakeStream) find(sequence uint64) (int, bool) {
	return slices.BinarySearchFunc(s.records, sequence, func(r engine.Record, n uint64) int { return cmp.Compare(r.Sequence, n) })
}

func (s *fakeStream) Get(_ context.Context, sequence uint64) (engine.Record, error) {
	i, ok := s.find(sequence)
	if !ok {
		return engine.Record{}, engine.ErrNoRecord
	}
	if s.damaged[sequence] {
		return engine.Record{}, &engine.CorruptError{Stream: "s", Sequence: sequence, Why: "checksum"}
	}
	return s.records[i], nil
}

func (s *fakeStream) Newest(context.Context) (uint64, error) {
	if len(s.records) == 0 {
		return 0, engine.ErrNoRecord
	}
	return s.records[len(s.records)-1].Sequence, nil
}

func (s *fakeStream) Cursor(_ context.Context, c engine.CursorConfig) (engine.Cursor, error) {
	if c.Name != "" || c.Start.At != engine.AtSequence {
		s.t.Errorf("cursor %+v: want one without a name, from a sequence number", c)
	}
	s.open++
	i, _ := s.find(c.Start.Sequence)
	return &fakeCursor{stream: s, next: i}, nil
}

type fakeCursor struct {
	engine.Cursor
	stream *fakeStream
	next   int
	buffer []engine.Record
}

func (c *fakeCursor) Next(_ context.Context, limit, bytes int) ([]engine.Record, error) {
	s := c.stream
	c.buffer = c.buffer[:cap(c.buffer)]
	for i := range c.buffer {
		c.buffer[i] = engine.Record{Tag: "overwritten"} // records are valid until the next call
	}
	c.buffer = c.buffer[:0]
	for size := 0; c.next < len(s.records) && len(c.buffer) < limit && (size < bytes || size == 0); c.next++ {
		r := s.records[c.next]
		if s.damaged[r.Sequence] {
			if len(c.buffer) > 0 {
				break
			}
			c.next++
			return nil, &engine.CorruptError{Stream: "s", Sequence: r.Sequence, Why: "checksum"}
		}
		r.Payload = slices.Clone(r.Payload)
		size += len(r.Payload)
		c.buffer = append(c.buffer, r)
	}
	if len(c.buffer) == 0 {
		s.t.Error("Next was called at the end of the stream: it would wait")
		return nil, context.DeadlineExceeded
	}
	return c.buffer, nil
}

func (c *fakeCursor) Close(context.Context) error {
	c.stream.open--
	return nil
}

func TestReadRecords(t *testing.T) {
	t.Parallel()
	all := upTo(1000)
	sparse := []uint64{3, 500, 501, 9000, 40_000}
	for _, c := range []struct {
		name      string
		sequences []uint64
		last      uint64
		query     recordsQuery
		want      string // sequence numbers
		from, to  uint64
	}{
		{"newest", all, 1000, recordsQuery{limit: 3}, "998 999 1000", 998, 1000},
		{"older", all, 1000, recordsQuery{limit: 3, before: 998}, "995 996 997", 995, 997},
		{"oldest", all, 1000, recordsQuery{limit: 3, before: 3}, "1 2", 1, 2},
		{"before the first", all, 1000, recordsQuery{limit: 3, before: 1}, "", 1, 0},
		{"from", all, 1000, recordsQuery{limit: 3, from: 10}, "10 11 12", 10, 12},
		{"from the end", all, 1000, recordsQuery{limit: 3, from: 999}, "999 1000", 999, 1000},
		{"from behind the end", all, 1000, recordsQuery{limit: 3, from: 1001}, "", 1001, 1000},
		{"before far behind the end", all, 1000, recordsQuery{limit: 2, before: 1 << 60}, "999 1000", 999, 1000},
		{"more than there is", upTo(3), 3, recordsQuery{limit: 50}, "1 2 3", 1, 3},
		{"one tag, newest", all, 1000, recordsQuery{limit: 3, filter: "a/7"}, "977 987 997", 977, 1000},
		{"one tag, from", all, 1000, recordsQuery{limit: 3, from: 10, filter: "a/7"}, "17 27 37", 10, 37},
		{"a tag that is not there", all, 1000, recordsQuery{limit: 3, filter: "b"}, "", 1, 1000},
		{"a tag that is not there, from", all, 1000, recordsQuery{limit: 3, from: 900, filter: "b"}, "", 900, 1000},
		{"gaps, newest", sparse, 40_000, recordsQuery{limit: 3}, "501 9000 40000", 501, 40_000},
		{"gaps, all", sparse, 40_000, recordsQuery{limit: 9}, "3 500 501 9000 40000", 3, 40_000},
		{"gaps, from", sparse, 40_000, recordsQuery{limit: 2, from: 4}, "500 501", 4, 501},
		{"gaps, older", sparse, 40_000, recordsQuery{limit: 2, before: 501}, "3 500", 3, 500},
		{"the newest are removed", upTo(10), 60, recordsQuery{limit: 2}, "9 10", 9, 60},
		{"the newest are removed, older", upTo(10), 60, recordsQuery{limit: 2, before: 30}, "9 10", 9, 29},
		{"the newest are removed, from", upTo(10), 60, recordsQuery{limit: 5, from: 9}, "9 10", 9, 60},
		{"many of the newest are removed", upTo(10), 600, recordsQuery{limit: 2}, "9 10", 9, 600},
		{"empty", nil, 0, recordsQuery{limit: 2}, "", 1, 0},
		{"all removed", nil, 70, recordsQuery{limit: 2}, "", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := gappy(t, c.last, c.sequences...)
			got, err := readRecords(t.Context(), s, c.query)
			if err != nil {
				t.Fatal(err)
			}
			if seqs := sequencesOf(got); seqs != c.want || got.from != c.from || got.to != c.to {
				t.Errorf("got %q in [%d, %d], want %q in [%d, %d]", seqs, got.from, got.to, c.want, c.from, c.to)
			}
			if s.open != 0 {
				t.Errorf("%d cursors are open", s.open)
			}
		})
	}
}

func sequencesOf(r records) string {
	var all []string
	for _, each := range r.list {
		if each.damaged == nil && each.Tag != fmt.Sprintf("a/%d", each.Sequence%10) {
			return fmt.Sprintf("record %d has the tag %q", each.Sequence, each.Tag)
		}
		all = append(all, fmt.Sprint(each.Sequence))
	}
	return strings.Join(all, " ")
}

// TestReadDamaged: a damaged record is shown as such, at its place; a filter of tags leaves it out.
func TestReadDamaged(t *testing.T) {
	t.Parallel()
	s := gappy(t, 5, upTo(5)...)
	s.damaged[2], s.damaged[5] = true, true
	got, err := readRecords(t.Context(), s, recordsQuery{limit: 10})
	if err != nil || sequencesOf(got) != "1 2 3 4 5" || got.list[1].damaged == nil || got.list[4].damaged == nil || got.list[2].damaged != nil {
		t.Errorf("got %+v, %v", got.list, err)
	}
	if got, err = readRecords(t.Context(), s, recordsQuery{limit: 10, filter: "a/#"}); err != nil || sequencesOf(got) != "1 3 4" {
		t.Errorf("with a filter: got %s, %v", sequencesOf(got), err)
	}
}

// TestReadIsBounded: the payloads of a response are bounded in sum, and long ones are left out.
func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	s := gappy(t, 200, upTo(200)...)
	for i := range s.records {
		s.records[i].Payload = make([]byte, maxShown)
	}
	s.records[199].Payload = make([]byte, maxShown+1)
	for name, q := range map[string]recordsQuery{"newest": {limit: 200}, "from": {limit: 200, from: 1}} {
		got, err := readRecords(t.Context(), s, q)
		if err != nil || bytesOf(got.list) > maxReadBytes+maxShown || len(got.list) < maxReadBytes/maxShown {
			t.Errorf("%s: %d records of %d bytes, %v", name, len(got.list), bytesOf(got.list), err)
		}
		first, last := got.list[0].Sequence, got.list[len(got.list)-1].Sequence
		if got.from != first || got.to != last {
			t.Errorf("%s: [%d, %d], but the records are %d to %d", name, got.from, got.to, first, last)
		}
	}
	got, err := readRecords(t.Context(), s, recordsQuery{limit: 1})
	if err != nil || got.list[0].Payload != nil || got.list[0].size != maxShown+1 {
		t.Errorf("a long payload: %d bytes of %d, %v", len(got.list[0].Payload), got.list[0].size, err)
	}
}
