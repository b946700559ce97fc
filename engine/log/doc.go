// Package log keeps the records of a stream in numbered segments, which are files of a Store.
//
// A Log encodes what it appends at once and gives it a number. One goroutine writes what has gathered meanwhile as a group, syncs it,
// adds it to the index, and then says that it is stored. That goroutine ends when nothing is left to do. The Log knows which numbers
// are removed, how many records each tag has, and where a record begins; all of this is a cache of what the segments have. It decides nothing: packages
// engine/file and link/spool say what is removed and when, what a sync is for, and what becomes of a group that cannot be written.
//
// docs/log-format.md describes the bytes.
package log

// Files: the records of a stream in numbered segments: frame.go and segment.go are the bytes (docs/log-format.md), log.go
// appends and removes, writer.go writes and syncs groups, reader.go reads with walker.go, open.go recovers, compact.go
// copies what is left; numbers.go is the set of removed numbers, store.go the files, and verify.go looks for damage.
