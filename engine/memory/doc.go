// Package memory is an engine that keeps streams in the memory of the process. They end with it.
//
// Each stream is bounded: by Config.MaxBytes, or by DefaultMaxBytes if that is 0. The oldest records make room for new ones.
// The bytes of a record are those of its payload, extension, tag and ID, and a fixed part for what the engine stores beside them.
// A stream needs at most about twice the memory that it counts, and once more for the IDs that it remembers.
//
//	e := memory.New()
//	s, err := e.Open(ctx, engine.Config{Name: "orders", Tags: []string{"orders/#"}, InMemory: true})
//	s.Append([]engine.Record{{Tag: "orders/7", Payload: payload}}, func(err error) {})
package memory

// Files: an engine that keeps streams in the process: log.go is the records of a stream in segments (segment.go), stream.go
// appends and retains, cursor.go reads, cursors.go has the named cursors; completions.go reports what is stored. The IDs are in
// engine/internal/ids.
