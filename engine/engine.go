package engine

import (
	"context"
	"errors"
	"time"
)

// Engine stores streams. All methods may overlap.
type Engine interface {
	// Capabilities says what the engine can do. It does not change.
	Capabilities() Capabilities

	// Open creates the stream of that name, or changes it to the Config if it exists. It returns an *UnsupportedError for a
	// Config that the engine cannot honour, and an error if the tags overlap those of another stream. Two Opens of one name share
	// the stream.
	Open(ctx context.Context, c Config) (Stream, error)

	// Stream returns a stream that exists, as it is, or ErrNoStream. Opens of its name share it.
	Stream(ctx context.Context, name string) (Stream, error)

	// List returns the state of all streams, sorted by name, whether they were opened or not.
	List(ctx context.Context) ([]Info, error)

	// Delete removes a stream with its records and cursors. It returns ErrNoStream if there is none, as Next and the methods of
	// the stream do from then on.
	Delete(ctx context.Context, name string) error

	// Close waits until the appended records are stored, or ctx ends, and then closes all streams and cursors.
	Close(ctx context.Context) error
}

// DuplicateCounter is a Stream that counts the records which Append has not stored because of their IDs.
type DuplicateCounter interface {
	// Duplicates returns how many they are since the stream was opened. It does not block.
	Duplicates() uint64
}

// Stream is one stream of an Engine. All methods may overlap.
type Stream interface {
	// Append stores records in order, behind those of earlier calls. It copies what it keeps, sets no field of records, and does
	// not wait for the storage. done is called once, when all records are stored or refused, from a goroutine of the engine, in
	// the order of the calls; it must return soon. If the storage fails, for example because the disk is full, the engine tries
	// again until it succeeds or is closed; Info.Err says why it waits. The error is an *AppendError for records that can never be
	// stored, because they are too large or no filter of the stream matches their tags; the other records of the call are stored.
	// After Close it is ErrClosed.
	//
	// A record with the tag and the ID of a record that was stored within Config.DuplicateWindow is not stored again, which is no
	// error. With Config.SharedIDs the tag does not matter. A Stream that is a DuplicateCounter counts such records.
	Append(records []Record, done func(error))

	// Pending returns the bytes of the payloads whose done was not called yet.
	Pending() int

	// Cursor opens a cursor. A named cursor is held by one opener at a time, in one process or several: Cursor waits until the
	// holder has closed it, or is gone, or ctx ends. It returns a *ConflictError if the cursor exists with another Filter or Where.
	Cursor(ctx context.Context, c CursorConfig) (Cursor, error)

	// CreateCursor stores the position at which a named cursor begins, without a holder. If the cursor exists, held or not, it
	// changes nothing, and returns a *ConflictError for another Filter or Where.
	CreateCursor(ctx context.Context, c CursorConfig) error

	// Cursors returns the named cursors, sorted by name, whether they are held or not.
	Cursors(ctx context.Context) ([]CursorInfo, error)

	// DeleteCursor removes a named cursor. It returns ErrNoCursor if there is none. Next of the holder returns ErrLost.
	DeleteCursor(ctx context.Context, name string) error

	// Info returns the state of the stream.
	Info(ctx context.Context) (Info, error)

	// Get returns the record with a sequence number, or ErrNoRecord. The record is the caller's.
	Get(ctx context.Context, sequence uint64) (Record, error)

	// Newest returns the sequence number of the newest record that is left, or ErrNoRecord.
	Newest(ctx context.Context) (uint64, error)

	// Remove removes the record with a sequence number, or returns ErrNoRecord.
	Remove(ctx context.Context, sequence uint64) error

	// Purge removes the records whose tags match filter ("" matches all) and whose sequence numbers are below before (0 means no
	// bound). It returns how many it has removed.
	Purge(ctx context.Context, filter string, before uint64) (uint64, error)
}

// Cursor reads a stream in order of the sequence numbers. Its methods must not overlap, except Commit and Close.
type Cursor interface {
	// Position returns the Position with which a named cursor was opened, and the zero Position of an unnamed one. It does not
	// change with Commit. The caller must not change it.
	Position() Position

	// Next returns at least one record, at most limit and, after the first, at most bytes of payload. It waits until there is one,
	// or ctx ends. The records are valid until the next call, and must not be changed. It returns ErrLost when another process
	// holds the cursor now, ErrClosed after Close, and a *CorruptError for a record whose bytes are damaged; the call after that
	// continues behind the record.
	Next(ctx context.Context, limit, bytes int) ([]Record, error)

	// Commit stores the Position from which the next opener of a named cursor resumes. It copies p and does not wait: of several
	// positions the engine stores the last. Close stores the last one, too. An unnamed cursor ignores Commit.
	Commit(p Position)

	// Close ends the cursor. A named one is then free for the next opener.
	Close(ctx context.Context) error
}

// Capabilities says what an Engine can do.
type Capabilities struct {
	Name        string        // "memory", "embedded" or "nats"
	Durable     bool          // records and positions outlive the process; otherwise streams are delivered at most once
	Sync        Sync          // when a record that Append has reported as stored is on the disk
	Interval    time.Duration // with SyncInterval: at most the records of this time are lost when the machine loses power
	MaxReplicas int           // most copies of a stream on different machines
	Shared      bool          // other processes may open the streams and their cursors at the same time
	Address     string        // of the engine, for messages
}

// Sync says when a stored record is on the disk of a machine.
type Sync uint8

// The values of Sync.
const (
	SyncNever    Sync = iota // records are only in memory
	SyncInterval             // after at most Capabilities.Interval
	SyncAlways               // before Append reports it
	SyncUnknown              // the engine does not say
)

// String returns never, interval, always or unknown.
func (s Sync) String() string {
	return [...]string{"never", "interval", "always", "unknown"}[s]
}

// Errors of engines.
var (
	ErrClosed   = errors.New("engine: the engine is closed")
	ErrLost     = errors.New("engine: another process holds the cursor now")
	ErrNoStream = errors.New("engine: no such stream")
	ErrNoCursor = errors.New("engine: no such cursor")
	ErrNoRecord = errors.New("engine: no such record")
	ErrExists   = errors.New("engine: the stream exists already")
)
