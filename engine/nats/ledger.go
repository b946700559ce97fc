package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"example.com/ferry/engine"
)

// ledger remembers in a file of its own what an embedded server must still have when it starts again. The server cuts off the
// rest of a block that it finds damaged, and takes the records for removed ones.
type ledger struct {
	path string

	mu      sync.Mutex
	streams map[string]*ledgerEntry
	dirty   bool
}

// ledgerEntry is what is known of one stream.
type ledgerEntry struct {
	Last    uint64 `json:"last"`              // greatest number that was acknowledged
	Removed ranges `json:"removed,omitempty"` // by Remove and Purge
	Purging bool   `json:"purging,omitempty"` // Removed lacks what a Purge removes now
	Lost    ranges `json:"lost,omitempty"`    // were found missing
}

func openLedger(path string) (*ledger, error) {
	l := &ledger{path: path, streams: make(map[string]*ledgerEntry)}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l.streams)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w: remove the file to go on without a check for lost records", path, err)
	}
	return l, nil
}

// update changes the entry of a stream. It reaches the disk with the next save.
func (l *ledger) update(name string, change func(*ledgerEntry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.streams[name]
	if e == nil {
		e = &ledgerEntry{}
		l.streams[name] = e
	}
	change(e)
	l.dirty = true
}

func (l *ledger) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, name)
	l.dirty = true
}

// entry returns a copy.
func (l *ledger) entry(name string) ledgerEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.streams[name]; e != nil {
		return *e
	}
	return ledgerEntry{}
}

// save writes the file and syncs it, if something has changed.
func (l *ledger) save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dirty {
		return nil
	}
	text, err := json.Marshal(l.streams)
	if err != nil {
		return err
	}
	next := l.path + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, l.path); err != nil {
		return err
	}
	l.dirty = false
	return syncFile(filepath.Dir(l.path))
}

// compare returns what the stream has lost since the last save, and notes it. tail is what is missing at its end: new records
// get these numbers.
func (e *ledgerEntry) compare(state jsState, perTag bool) (inner ranges, tail engine.Range) {
	if state.Last < e.Last {
		tail = engine.Range{First: state.Last + 1, Count: e.Last - state.Last}
		e.Last = state.Last
	}
	if !e.Purging && !perTag && state.NumDeleted <= mostDeleted {
		inner = rangesOf(state.Deleted).without(e.Removed).without(e.Lost).within(state.First, state.Last)
	}
	// A first block that is gone as a whole looks like retention: it cannot be told apart.
	e.Lost = e.Lost.with(inner).within(state.First, state.Last)
	e.Removed = e.Removed.within(state.First, state.Last)
	e.Purging = false
	return inner, tail
}
