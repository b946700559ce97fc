package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"
)

// Writer writes an archive. The caller writes Files first, then streams, and calls Close.
type Writer struct {
	tar  *tar.Writer
	sum  hash.Hash
	made time.Time
}

// NewWriter writes the manifest, with Version.
func NewWriter(to io.Writer, m Manifest) (*Writer, error) {
	m.Version = Version
	w := &Writer{tar: tar.NewWriter(to), sum: sha256.New(), made: m.Made}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return w, w.entry(manifestEntry, 0o644, text)
}

// File writes a file of the data directory.
func (w *Writer) File(f File, content []byte) error {
	return w.entry(dataPrefix+f.Name, int64(f.Mode), content)
}

// Stream writes a stream. parts passes its parts to write, in order; each is valid during the call.
func (w *Writer) Stream(name string, parts func(write func(part []byte) error) error) error {
	n := 0
	return parts(func(part []byte) error {
		n++
		return w.entry(partName(name, n-1), 0o600, part)
	})
}

// Close writes the sum and the end of the archive.
func (w *Writer) Close() error {
	if err := w.entry(sumEntry, 0o644, []byte(sumOf(w.sum))); err != nil {
		return err
	}
	return w.tar.Close()
}

func (w *Writer) entry(name string, mode int64, content []byte) error {
	if len(content) > maxPart {
		return fmt.Errorf("backup: %s has %d bytes: at most %d", name, len(content), maxPart)
	}
	addSum(w.sum, name, content)
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: w.made, Format: tar.FormatPAX}); err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	if _, err := w.tar.Write(content); err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	return nil
}
