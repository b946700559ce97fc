package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// ErrIncomplete says that an archive ends too early.
var ErrIncomplete = errors.New("backup: the archive is incomplete: make it again")

// Reader reads an archive.
type Reader struct {
	Manifest Manifest

	tar  *tar.Reader
	sum  hash.Hash
	next entry // read and not returned yet; without a name at the end
}

type entry struct {
	name    string
	content []byte
}

// NewReader reads the manifest.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{tar: tar.NewReader(from), sum: sha256.New()}
	if err := r.advance(); err != nil {
		if errors.Is(err, tar.ErrHeader) {
			return nil, errors.New("backup: this is no archive of ferry backup")
		}
		return nil, err
	}
	if r.next.name != manifestEntry {
		return nil, errors.New("backup: this is no archive of ferry backup")
	}
	if err := json.Unmarshal(r.next.content, &r.Manifest); err != nil {
		return nil, fmt.Errorf("backup: %s: %w", manifestEntry, err)
	}
	if r.Manifest.Version != Version {
		return nil, fmt.Errorf("backup: the archive has version %d, and this ferry reads version %d: restore it with the ferry that has written it", r.Manifest.Version, Version)
	}
	return r, r.advance()
}

// Files returns the files of the data directory. It is called before the streams are read.
func (r *Reader) Files() (map[File][]byte, error) {
	found := map[File][]byte{}
	for {
		name, ok := strings.CutPrefix(r.next.name, dataPrefix)
		if !ok {
			return found, nil
		}
		f, ok := FileOf(name)
		if !ok {
			return nil, fmt.Errorf("backup: %.80q is no file of a data directory", name)
		}
		found[f] = r.next.content
		if err := r.advance(); err != nil {
			return nil, err
		}
	}
}

// NextStream returns the name of the next stream, and a function that returns its parts and then io.EOF. The parts must be read
// before the next call. After the last stream, which has the sum of the archive behind it, the error is io.EOF.
func (r *Reader) NextStream() (name string, read func() ([]byte, error), err error) {
	if r.next.name == "" {
		return "", nil, io.EOF
	}
	name, part, ok := parsePart(r.next.name)
	if !ok || part != 0 {
		return "", nil, fmt.Errorf("backup: unexpected entry %.80q", r.next.name)
	}
	return name, func() ([]byte, error) {
		stream, number, ok := parsePart(r.next.name)
		if !ok || stream != name {
			return nil, io.EOF
		}
		if number != part {
			return nil, fmt.Errorf("backup: part %d of stream %s is missing", part, name)
		}
		part++
		content := r.next.content
		return content, r.advance()
	}, nil
}

// advance reads the next entry, and checks the sum at the end.
func (r *Reader) advance() error {
	header, err := r.tar.Next()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrIncomplete
	case err != nil:
		return fmt.Errorf("backup: %w", err)
	case header.Size > maxPart:
		return fmt.Errorf("backup: entry %.80q has %d bytes: at most %d", header.Name, header.Size, maxPart)
	}
	content, err := io.ReadAll(r.tar)
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrIncomplete
		}
		return fmt.Errorf("backup: %w", err)
	}
	if header.Name == sumEntry {
		if string(content) != sumOf(r.sum) {
			return errors.New("backup: the archive is damaged: its contents do not have the SHA-256 at its end")
		}
		r.next = entry{}
		return nil
	}
	addSum(r.sum, header.Name, content)
	r.next = entry{header.Name, content}
	return nil
}

// Verify reads all of an archive. It returns its manifest if the archive is complete and undamaged.
func Verify(from io.Reader) (Manifest, error) {
	r, err := NewReader(from)
	if err != nil {
		return Manifest{}, err
	}
	if _, err := r.Files(); err != nil {
		return Manifest{}, err
	}
	for {
		_, read, err := r.NextStream()
		if errors.Is(err, io.EOF) {
			return r.Manifest, nil
		}
		for err == nil {
			_, err = read()
		}
		if !errors.Is(err, io.EOF) {
			return Manifest{}, err
		}
	}
}
