// Package clock has the time for durations: a number that the steps of the system's clock do not change.
//
// time.Time has such a reading beside the wall clock's, but its UnixNano is the wall clock's alone. A deadline that is kept as
// UnixNano passes early when the wall clock is set forwards, and late when it is set back.
//
//	begun := clock.Now()
//	...
//	took := clock.Now() - begun
package clock

import "time"

var start = time.Now()

// Now returns the nanoseconds since the process started, plus the Unix time in nanoseconds at which it started. Compare it only with
// other values of this process. For a time that other machines or later processes read, use time.Time.UnixNano.
func Now() int64 { return At(time.Now()) }

// At returns what Now returned at t, which is a value of time.Now.
func At(t time.Time) int64 { return start.UnixNano() + int64(t.Sub(start)) }
