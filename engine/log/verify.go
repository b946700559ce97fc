package log

import (
	"context"
	"errors"
	"io"
	"os"
)

// Report is what Verify has found.
type Report struct {
	First, Last uint64 // numbers of the first and the last record that is left; 0 if there is none
	Records     uint64 // that are intact
	Damaged     []Range
}

// Verify reads all records of the Log in a directory. It opens no file for writing.
func Verify(ctx context.Context, dir string) (v Report, err error) {
	l, err := load(Config{Store: readOnly{Dir(dir)}})
	if err != nil {
		return v, err
	}
	r := l.Reader(1, nil)
	defer r.Close()
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return v, ctx.Err()
		}
		record, err := r.Read(true)
		sequence := record.sequence
		var damage *DamageError
		switch {
		case err == nil:
			v.Records++
		case errors.As(err, &damage):
			sequence = damage.Sequence
			v.Damaged = addRange(v.Damaged, Range{sequence, sequence})
		case errors.Is(err, io.EOF):
			return v, nil
		default:
			return v, err
		}
		if v.First == 0 {
			v.First = sequence
		}
		v.Last = sequence
	}
}

// readOnly is a Store that forgets what load writes.
type readOnly struct{ Dir }

func (d readOnly) Open(name string) (File, error) {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return readOnlyFile{f}, nil
}

func (readOnly) Remove(string) error { return nil }
func (readOnly) Sync() error         { return nil }

type readOnlyFile struct{ File }

func (readOnlyFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (readOnlyFile) Truncate(int64) error                   { return nil }
func (readOnlyFile) Sync() error                            { return nil }
