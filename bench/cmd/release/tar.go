package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file or directory of an archive.
type entry struct {
	name    string // a directory's ends with /
	mode    int64
	owner   int // user and group
	content []byte
}

// writeTar writes entries as they are listed. All have the same time, and no user's name.
func writeTar(w io.Writer, modified time.Time, entries []entry) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{
			Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.content)), ModTime: modified, Format: tar.FormatUSTAR,
			Typeflag: tar.TypeReg,
		}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.content); err != nil {
			return err
		}
	}
	return t.Close()
}

// writeTarGz writes entries to a compressed archive.
func (r *release) writeTarGz(name string, entries []entry) error {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(z, r.time, entries); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(r.file(name), buf.Bytes(), 0o644)
}

// source returns a file of the module as an entry.
func (r *release) source(name, from string) (entry, error) {
	data, err := os.ReadFile(filepath.Join(r.root, from))
	return entry{name: name, mode: 0o644, content: data}, err
}

// archive makes one archive for each platform: the binary, the licence and how to install it.
func (r *release) archive(context.Context, string) error {
	for _, b := range r.binaries {
		dir := fmt.Sprintf("ferry_%s_%s", r.number(), b)
		data, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		entries := []entry{{name: dir + "/", mode: 0o755}, {name: path.Join(dir, b.program()), mode: 0o755, content: data}}
		for _, from := range []string{"LICENSE", "README.md", "docs/install.md", "examples/node/node.yaml", "packaging/systemd/system/ferry.service"} {
			e, err := r.source(path.Join(dir, path.Base(from)), from)
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
		if err := r.writeTarGz(dir+".tar.gz", entries); err != nil {
			return err
		}
	}
	return nil
}
