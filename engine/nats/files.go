package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/engine"
)

const (
	fileBuffer   = 256 << 10 // bytes read at once; more for a larger record
	fileHead     = 4 << 10   // bytes in which the first record of a block is looked for
	fileState    = 100 * time.Millisecond
	fileWait     = 2 * time.Second // longest wait for the server
	mostRemoved  = 2000            // removed records of a stream, above which its files are not read
	filesAgain   = 4096            // records that a consumer reads before the files are tried again
	worthReading = 2000            // records that a consumer has before it, for which the files are tried
)

// files reads the records of a stream from the block files of the embedded server, several times as fast as its consumers deliver
// them. It reads only blocks to which the server adds no records any more, and delivers only records that the server has committed
// and not removed, as it says every fileState. Whatever else is in a file, or is missing, ends the reading with an error. The
// cursor then uses a consumer, which also reports damage.
type files struct {
	s      *stream
	dir    string
	fields fieldParser

	block  uint64   // number of the open block
	left   []uint64 // numbers of the complete blocks behind it
	file   *os.File
	parser *blockParser
	buf    []byte // buf[from:to] is not delivered yet
	from   int
	to     int
	passed bool // the record before buf[from] does not match its hash

	refreshed time.Time
	first     uint64 // of the stream
	committed uint64 // last record that is safe to deliver
	removed   ranges // behind first
}

// gapError says that a block lacks records which the server, as it has said a while ago, has not removed.
type gapError struct{ first, last uint64 }

func (e *gapError) Error() string {
	return fmt.Sprintf("the block lacks the records %d to %d", e.first, e.last)
}

var (
	errNewest  = errors.New("the record is in the newest block")
	errRemoved = errors.New("too many records are removed")
	errState   = errors.New("the server's numbers of removed records do not fit to what it has")
	errStale   = errors.New("the record is not committed") // as the server has said a while ago
)

// canReadFiles reports whether the files of a stream can be read beside the server. On Windows the server could not remove them.
func (s *stream) canReadFiles() bool {
	return s.e.host != nil && !s.config.Load().InMemory && runtime.GOOS != "windows"
}

// openFiles opens the block with the record next, or the one behind it if the stream begins later.
func openFiles(ctx context.Context, s *stream, filter string, next uint64) (*files, error) {
	f := &files{
		s: s, dir: filepath.Join(s.e.host.streamsDir(), s.js(), "msgs"),
		fields: fieldParser{filter: filter, foreign: s.e.foreign},
	}
	if err := f.find(next); err != nil {
		return nil, err
	}
	if err := f.refresh(ctx); err != nil {
		f.close()
		return nil, err
	}
	f.buf = make([]byte, fileBuffer)
	return f, nil
}

// blocks returns the numbers of the blocks behind a number, in order.
func (f *files) blocks(behind uint64) ([]uint64, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".blk")
		if n, err := strconv.ParseUint(name, 10, 32); ok && err == nil && n > behind {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (f *files) path(block uint64) string {
	return filepath.Join(f.dir, strconv.FormatUint(block, 10)+".blk")
}

// find opens the last block that begins with the record next or an earlier one, or the first block.
func (f *files) find(next uint64) error {
	numbers, err := f.blocks(0)
	if err != nil {
		return err
	}
	if len(numbers) < 2 {
		return errNewest
	}
	var failed error
	head := make([]byte, fileHead)
	i := sort.Search(len(numbers), func(i int) bool {
		first, err := f.begin(numbers[i], head)
		if err != nil {
			failed = err
		}
		return first > next || first == 0 && i == len(numbers)-1
	})
	if failed != nil {
		return failed
	}
	if i == len(numbers) {
		return errNewest
	}
	i = max(i-1, 0)
	f.left = numbers[i : len(numbers)-1]
	return f.nextBlock()
}

// begin returns the number of the first record of a block.
func (f *files) begin(block uint64, head []byte) (uint64, error) {
	file, err := os.Open(f.path(block))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return firstInBlock(head[:n]), nil
}

// nextBlock opens the next complete block. It returns errNewest if there is none.
func (f *files) nextBlock() (err error) {
	if len(f.left) == 0 {
		if f.left, err = f.blocks(f.block); err != nil {
			return err
		}
		if len(f.left) < 2 {
			return errNewest
		}
		f.left = f.left[:len(f.left)-1]
	}
	f.close()
	f.block, f.left = f.left[0], f.left[1:]
	f.from, f.to = 0, 0
	if f.parser, err = newBlockParser(f.s.js(), f.block); err != nil {
		return err
	}
	f.file, err = os.Open(f.path(f.block))
	return err
}

func (f *files) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

// refresh gets from the server what it has committed and removed. The server may be within a batch when it returns where the stream
// ends. It returns no single record before the batch is complete.
func (f *files) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fileWait)
	defer cancel()
	state, err := f.s.state(ctx)
	if err != nil {
		return err
	}
	switch {
	case state.NumDeleted > mostRemoved:
		return errRemoved
	case !state.consistent():
		return errState
	}
	if _, err := f.s.direct(ctx, directRequest{Sequence: max(state.Last, 1)}); err != nil && !errors.Is(err, engine.ErrNoRecord) {
		return err
	}
	f.refreshed = time.Now()
	f.first, f.committed = state.First, state.Last
	f.removed = rangesOf(state.Deleted).without(f.s.lost(state))
	return nil
}

// fill makes sure that the buffer has a whole record, and that the state of the server is young. It overwrites the records
// that were delivered from the buffer. It returns errNewest at the end of the last complete block.
func (f *files) fill(ctx context.Context) error {
	if time.Since(f.refreshed) > fileState {
		if err := f.refresh(ctx); err != nil {
			return err
		}
	}
	for {
		_, need, err := f.parser.next(f.buf[f.from:f.to])
		if err == nil || errors.Is(err, errHash) {
			return nil
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		f.to = copy(f.buf, f.buf[f.from:f.to])
		f.from = 0
		if need > len(f.buf) {
			f.buf = append(f.buf, make([]byte, need-len(f.buf))...)
		}
		n, err := f.file.Read(f.buf[f.to:])
		f.to += n
		switch {
		case n > 0:
		case errors.Is(err, io.EOF) && f.to == 0:
			if err := f.nextBlock(); err != nil {
				return err
			}
		case errors.Is(err, io.EOF):
			return errBlock
		case err != nil:
			return err
		}
	}
}

// record returns the next record of the buffer whose number is at least next. Its Tag is empty if the filter does not match. Its
// Sequence is 0 if the buffer has no whole record more. The record counts as delivered if the caller calls take with n.
func (f *files) record(next uint64) (r engine.Record, n int, err error) {
	for {
		b, n, err := f.parser.next(f.buf[f.from:f.to])
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return r, 0, nil
		case errors.Is(err, errHash) && !f.passed: // its length is right if the next record is one
			f.from += n
			f.passed = true
			continue
		case err != nil:
			return r, 0, err
		case b.sequence < next || f.gone(b.sequence, b.sequence):
			f.take(n)
			continue
		case b.sequence > f.committed:
			return r, 0, errStale
		case b.sequence > next && !f.gone(next, b.sequence-1):
			if f.passed && b.sequence != next+1 {
				return r, 0, errHash
			}
			return r, 0, &gapError{next, b.sequence - 1}
		}
		r, err = f.fields.record(&b)
		return r, n, err
	}
}

func (f *files) take(n int) {
	f.from += n
	f.passed = false
}

// gone reports whether the server has removed all records from first to last.
func (f *files) gone(first, last uint64) bool {
	if first = max(first, f.first); first > last {
		return true
	}
	i := sort.Search(len(f.removed), func(i int) bool { return f.removed[i].First+f.removed[i].Count > first })
	return i < len(f.removed) && f.removed[i].First <= first && last < f.removed[i].First+f.removed[i].Count
}
