// Package spool keeps messages on disk, in order, until they are delivered: the store of store-and-forward.
//
// A Spool is a directory with a bounded first-in-first-out queue. Append adds a message at the end. Read returns messages from the
// front, and Advance removes those that were delivered. What Append has accepted survives the end of the process, kill -9
// included; with Config.Sync it survives the loss of power, too. A message that was read and not advanced is read again after a
// restart, with the same ID, so a receiver can drop the repetition.
//
//	s, err := spool.Open(spool.Config{Dir: "pump-spool", MaxBytes: 1 << 30})
//	defer s.Close()
//	_, err = s.Append(ctx, &ferry.Message{Tag: "orders/7", Payload: order})
//	...
//	records, err := s.Read(ctx, 1<<20)
//	// deliver them
//	err = s.Advance(records[len(records)-1].Index)
//
// Package stream drains a Spool to a node: see stream.Config.Spool.
//
// The messages are a log of package engine/log, whose policy is here: a message that cannot be written is refused, and the log forgets it.
// The file position has the index of the first message that was not advanced, so that the log writes nothing for each delivery. The file
// lock belongs to the process that uses the directory. docs/log-format.md describes the bytes.
package spool

// Files: messages on disk until they are delivered: spool.go opens, counts and closes, append.go and read.go are the two ends, position.go
// is the front of the queue, disk_*.go know a full disk.
