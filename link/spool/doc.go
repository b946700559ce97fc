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
// # Files
//
// Messages are in files named INDEX-BIRTH.spool. INDEX is the index of the file's first message, in decimal. BIRTH is a random
// number of the Open that has created the file, in hexadecimal: each Open begins a file of its own, and never writes to another one.
// A file is a sequence of records; integers are big-endian, sums are CRC-32C that begin with a value made from BIRTH:
//
//	offset  size
//	     0     4  length of the body
//	     4     8  index of the message; consecutive within a file
//	    12     4  sum of the body
//	    16     4  sum of the 16 bytes before
//	    20     8  body: time of the message
//	    28     1  type
//	    29     1  reserved, 0
//	    30     2  length of the tag
//	    32     2  length of the ID, 0 for the spool's own
//	    34     2  length of the key
//	    36        tag, ID, key, payload
//
// The file position has the index of the first message that was not advanced. The file lock belongs to the process that uses the
// directory.
//
// A process that dies while it appends leaves an incomplete record at the end of a file. Append had not returned, so the record is
// dropped. All other damage is reported by Read: see CorruptError.
package spool

// Files: messages on disk until they are delivered: append.go and read.go are the two ends, record.go is the form of a
// record, segment.go a file of them, position.go the front of the queue.
