package link

import (
	"errors"
	"time"

	"example.com/ferry/link/spool"
)

const (
	shortestPause = time.Second
	longestPause  = 30 * time.Second
)

// retry says when something that has failed is tried again. The zero value has not failed.
type retry struct {
	err   error // of the last attempt
	at    time.Time
	pause time.Duration
}

// failed notes a failure, after which the next attempt is due later. It returns true for the first one after a success.
func (r *retry) failed(err error) (first bool) {
	first = r.err == nil
	r.pause = min(max(2*r.pause, shortestPause), longestPause)
	r.err, r.at = err, time.Now().Add(r.pause)
	return first
}

// due reports whether an attempt is due.
func (r *retry) due() bool { return r.err == nil || !time.Now().Before(r.at) }

// reasonOf returns the reason for dropping messages that a store has not taken.
func reasonOf(err error) string {
	if errors.Is(err, spool.ErrFull) {
		return DropFull
	}
	return DropDisk
}
