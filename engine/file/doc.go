// Package file is an engine that keeps streams in the files of a directory. One process at a time uses it.
//
//	e, err := file.Open(file.Config{Dir: "streams"})
//	s, err := e.Open(ctx, engine.Config{Name: "orders", Tags: []string{"orders/#"}})
//	s.Append([]engine.Record{{Tag: "orders/7", Payload: payload}}, func(err error) {})
//
// The records of a stream are a log (package log). This package says which of them are removed, and when: by retention, Remove and
// Purge. It remembers IDs, and keeps the positions of cursors in a file of their own. Streams with Config.InMemory are those of
// engine/memory; they end with the process.
package file

// Files: an engine that keeps streams in files, on engine/log: stream.go appends, retention.go removes, ids.go keeps the IDs
// over restarts (engine/internal/ids), cursor.go reads, cursors.go has the named cursors and positions.go their file, restore.go
// makes a stream from an archive, verify.go looks for damage.
