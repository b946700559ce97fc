package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/ferry/engine/internal/named"
	"example.com/ferry/engine/log"
	"example.com/ferry/internal/filelock"
)

// Verified is what Verify has found of a stream.
type Verified struct {
	Name     string
	Durables int // whose positions are intact
	log.Report
	Err error // why the stream cannot be opened, or what is damaged beside records
}

// Intact reports whether nothing of the stream is damaged.
func (v *Verified) Intact() bool { return v.Err == nil && len(v.Damaged) == 0 }

// Verify reads all that the streams of a directory have, and calls visit for each of them. It writes only to the lock of the directory. The
// error is that of visit, or says that another process has the lock, or that the directory cannot be read.
func Verify(ctx context.Context, dir string, visit func(Verified) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("engine: directory of the streams: %w", err)
	}
	lock, err := filelock.Take(filepath.Join(dir, "lock"))
	if err != nil {
		return fmt.Errorf("engine: directory of the streams: %w", err)
	}
	defer func() { _ = lock.Close() }() // nothing was written
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || strings.HasPrefix(name, removedPrefix) || strings.HasPrefix(name, newPrefix) {
			continue
		}
		v := verify(ctx, filepath.Join(dir, name))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}

// verify reads a stream.
func verify(ctx context.Context, dir string) Verified {
	v := Verified{Name: filepath.Base(dir)}
	_, unknown := readConfig(filepath.Join(dir, configName))
	path := filepath.Join(dir, positionsName)
	b, broken := os.ReadFile(path)
	if errors.Is(broken, fs.ErrNotExist) {
		broken = nil
	}
	if broken == nil {
		var all named.Cursors
		var damaged int
		if all, damaged, _, broken = parsePositions(path, b); damaged > 0 {
			broken = fmt.Errorf("%s has %d damaged bytes: durables may be lost, or have older positions", path, damaged)
		}
		v.Durables = len(all)
	}
	var unreadable error
	v.Report, unreadable = log.Verify(ctx, dir)
	v.Err = errors.Join(unknown, broken, unreadable)
	return v
}
