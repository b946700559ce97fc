// Package durable decides which member of a durable receives which record, and when a record is done.
//
// A Window holds the records that were read from a stream and are not done. It has no socket, no goroutine and no clock: the broker
// adds records, passes acks, naks and credit on, and asks Next for the deliveries that are possible. Records of one key go to one
// member at a time, in order of their sequence numbers. state.go draws the states of records and keys.
//
//	w.Add(durable.Record{Sequence: 7, Key: k, Content: frame})
//	for d, ok := w.Next(now); ok; d, ok = w.Next(now) {
//		send(d.Member, d.Content.B)
//	}
//	w.Ack(member, 7, 1, now)
//	cursor.Commit(w.Position())
//
// All times are Unix nanoseconds. The methods of a Window and its members must not overlap.
package durable

// Files: which member of a durable receives which record, and when it is done, without socket, goroutine and clock: state.go
// draws the states of records and keys, next.go chooses, settle.go handles what members say, position.go says where a cursor
// resumes.
