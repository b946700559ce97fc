package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"

	"example.com/ferry/engine/archive"
	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/node/backup"
	"example.com/ferry/node/config"
)

type backupCmd struct {
	adminTarget
	File string `arg:"" help:"The file to write. It must not exist."`
}

// Help returns the part of ferry backup --help that is not in the grammar.
func (*backupCmd) Help() string {
	return `The archive has the streams of the embedded engine with their durables, the deployed functions, the sessions and retained messages of MQTT, and the files of the data directory: the CA with its key, the node's certificate with its key, the token, and the node's id. Messages that wait in the spools of links and bridges are not in it. Its mode is 0600. Keep it as secret as the data directory.

The node goes on working. Each stream is saved as it is at one moment. ferry backup runs where the node runs, as the node's user: the streams come from the admin server, the files from the data directory.

Example:

    ferry backup ferry-$(date +%F).tar`
}

// Run writes an archive of a node that runs.
func (c *backupCmd) Run(e *env) error {
	ctx, stop := interruptible()
	defer stop()
	source, err := c.connect()
	if err != nil {
		return err
	}
	defer source.close()
	response, err := source.open(ctx, http.MethodGet, "/api/backup")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	from, err := backup.NewReader(response.Body)
	if err != nil {
		return explainArchive(err, response)
	}
	size, err := writeNewFile(c.File, func(to io.Writer) error { return explainArchive(c.write(to, from), response) })
	if err != nil {
		return err
	}
	m := from.Manifest
	if m.Engine != "" && !(config.Engine{Address: m.Address}).OnDisk() {
		e.note("the streams are not in the archive: they are at %s; back them up there", m.Address)
	}
	return e.print(fmt.Appendf(nil, "%s: %d streams, %s\n", c.File, len(m.Streams), shortSize(uint64(size))))
}

// write copies the streams of an archive, and adds the files of the data directory.
func (c *backupCmd) write(to io.Writer, from *backup.Reader) error {
	w, err := backup.NewWriter(to, from.Manifest)
	if err != nil {
		return err
	}
	for _, f := range backup.Files {
		content, err := os.ReadFile(filepath.Join(c.DataDir, f.Name))
		if err != nil {
			return fmt.Errorf("%w\nname the node's data directory with --data-dir, and run ferry backup as the node's user", err)
		}
		if err := w.File(f, content); err != nil {
			return err
		}
	}
	for _, f := range backup.StateFiles {
		if err := c.writeIfThere(w, f); err != nil {
			return err
		}
	}
	if err := c.writeFunctions(w); err != nil {
		return err
	}
	for {
		name, read, err := from.NextStream()
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return err
		}
		err = w.Stream(name, func(write func([]byte) error) error {
			for {
				part, err := read()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err == nil {
					err = write(part)
				}
				if err != nil {
					return err
				}
			}
		})
		if err != nil {
			return err
		}
	}
}

// writeFunctions adds the deployed functions. One that is removed in the meantime is left out. Of each, the list of versions comes first:
// so the archive has the modules of the versions in the list, also if another version is deployed in the meantime.
func (c *backupCmd) writeFunctions(w *backup.Writer) error {
	root := filepath.Join(c.DataDir, backup.Functions)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || path == root || d.Name() == backup.FunctionManifest:
			return err
		case d.IsDir():
			return c.writeFunctionFile(w, filepath.Join(path, backup.FunctionManifest))
		}
		return c.writeFunctionFile(w, path)
	})
}

// writeFunctionFile adds a file of a deployed function, if it is there and is one.
func (c *backupCmd) writeFunctionFile(w *backup.Writer, path string) error {
	name, err := filepath.Rel(c.DataDir, path)
	if err != nil {
		return err
	}
	f, ok := backup.FileOf(filepath.ToSlash(name))
	if !ok {
		return nil
	}
	return c.writeIfThere(w, f)
}

// writeIfThere adds a file of the data directory, unless it is missing.
func (c *backupCmd) writeIfThere(w *backup.Writer, f backup.File) error {
	content, err := os.ReadFile(filepath.Join(c.DataDir, filepath.FromSlash(f.Name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.File(f, content)
}

// writeNewFile writes a file with mode 0600, which has its name only when it is complete and on the disk. It returns the size.
func writeNewFile(path string, write func(io.Writer) error) (size int64, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s exists: name a new file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial") // its mode is 0600
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return 0, err
	}
	if err := os.Link(f.Name(), path); err != nil { // unlike Rename, it replaces no file
		return 0, err
	}
	return info.Size(), errors.Join(os.Remove(f.Name()), atomicfile.SyncDir(filepath.Dir(path)))
}

type restoreCmd struct {
	DataDir   string `default:"./ferry-data" placeholder:"DIR" help:"The data directory to make. It must not exist, or be empty. The default is ./ferry-data."`
	AsNewNode bool   `help:"Make another node of it: the data directory gets an id of its own. Links between nodes drop the messages of two nodes with one id."`
	File      string `arg:"" help:"The archive that ferry backup wrote."`
}

// Help returns the part of ferry restore --help that is not in the grammar.
func (*restoreCmd) Help() string {
	return `ferry restore makes a data directory, for a node that does not run. It refuses one that has a store already. The archive is checked as a whole before anything is written.

The node has the id of the one that was saved, and takes its place. To run it beside that one, say --as-new-node.

Example:

    ferry restore ferry-2026-11-22.tar && ferry run -c node.yaml`
}

// Run makes a data directory from an archive.
func (c *restoreCmd) Run(e *env) error {
	entries, err := os.ReadDir(c.DataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s has %s already: restore into a new directory with --data-dir, or move this one away", c.DataDir, entries[0].Name())
	}
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := backup.Verify(f)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	// The directory gets its name when it is complete: a restoration that is interrupted leaves no half of a store.
	dir := filepath.Clean(c.DataDir)
	parent := filepath.Dir(dir)
	if err := atomicfile.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(parent, filepath.Base(dir)+".*.partial") // its mode is 0700
	if err != nil {
		return err
	}
	err = c.restore(ctx, e, f, partial)
	if err == nil {
		err = syncTree(partial)
	}
	if err == nil {
		err = os.Rename(partial, dir) // replaces an empty directory only
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	if err := atomicfile.SyncDir(parent); err != nil {
		return err
	}
	return e.print(fmt.Appendf(nil, "%s: %d streams, as of %s\n", c.DataDir, len(m.Streams), m.Made.Local().Format("2006-01-02 15:04:05")))
}

// restore writes the files and the streams of an archive into an empty directory.
func (c *restoreCmd) restore(ctx context.Context, e *env, from io.Reader, dir string) error {
	r, err := backup.NewReader(from)
	if err != nil {
		return err
	}
	files, err := r.Files()
	if err != nil {
		return err
	}
	if c.AsNewNode {
		maps.DeleteFunc(files, func(f backup.File, _ []byte) bool { return f.Name == backup.NodeIDFile })
	}
	for f, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := errors.Join(os.WriteFile(path, content, f.Mode), os.Chmod(path, f.Mode)); err != nil {
			return err
		}
	}
	if len(r.Manifest.Streams) == 0 {
		return nil
	}
	to, err := startEngine(ctx, e, &config.Config{Engine: config.Engine{Address: config.EmbeddedEngine}, DataDir: dir}, false)
	if err != nil {
		return err
	}
	target, ok := to.Engine.(archive.Restorer)
	if !ok {
		return errors.Join(errors.New("the engine of this program restores no streams"), to.close())
	}
	return errors.Join(restoreStreams(ctx, r, target), to.close())
}

func restoreStreams(ctx context.Context, r *backup.Reader, target archive.Restorer) error {
	for {
		name, read, err := r.NextStream()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var a *archive.Reader
		if err == nil {
			a, err = archive.Open(read)
		}
		if err == nil {
			_, err = target.Restore(ctx, a)
		}
		if err != nil {
			return fmt.Errorf("stream %s: %w", name, err)
		}
	}
}
