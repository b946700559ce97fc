// Package engine is the contract between a node and the engine that stores its streams.
//
// A stream is a sequence of records. Its tag filters say which messages it stores. An engine appends records, gives each a
// sequence number, and reads them back in order. Package memory has an engine that keeps records in the process. Package file
// has one that keeps them in files. Package nats has one that keeps them in a NATS JetStream cluster. Package archive copies streams from one
// to another.
//
// The engine knows nothing of delivery. Which member of a durable receives a record, what happens after a failure, and when a
// record is a dead letter is the broker's work (package broker), and equal for all engines. The engine only keeps the Position of a
// named cursor, so that another process resumes there.
package engine
