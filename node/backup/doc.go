// Package backup reads and writes the archive that ferry backup makes: the files of a data directory and its streams.
//
// An archive is a tar file. Its entries are, in this order:
//
//	manifest.json        Manifest
//	data/NAME            a file of the data directory; only those that FileOf knows
//	streams/STREAM/0     the parts of a stream, numbered from 0, in the engine's own form
//	sha256               SHA-256, in hex, of the names and contents of all entries before it
//
// An archive without its last entry is incomplete: Verify reads all of it before anything is restored.
//
//	w, err := backup.NewWriter(file, backup.Manifest{Made: time.Now()})
//	err = w.Stream("orders", func(write func([]byte) error) error { return archive.Save(ctx, engine, "orders", write) })
//	err = w.Close()
package backup
