// Package archive is the form in which a stream leaves one engine and comes into another.
//
//	err := archive.Save(ctx, from, "orders", func(part []byte) error { return write(part) })
//	a, err := archive.Open(func() ([]byte, error) { return readPart() })
//	restored, err := to.Restore(ctx, a)
//
// An archive is a sequence of parts: a head with the version, the configuration and the range of sequence numbers; the named cursors; the
// records and the ranges of numbers that are removed, which together are all numbers of the head; and an end. Each part has a sum, in
// which its position counts, so that none is missing. docs/log-format.md describes the bytes.
package archive

// Files: the form in which streams leave an engine and come into another: save.go reads any engine, read.go checks that
// nothing is missing, copy.go joins both. engine/internal/packed is how it, and the files, write records, configurations and
// cursors.
