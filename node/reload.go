package node

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/ferry/node/config"
)

// watchInterval is how often the configuration file is checked. A changed file is read once it has stayed the same for this
// long, as a program may still be writing it.
const watchInterval = time.Second

// Watch applies the configuration file to the running node whenever it, or the file of a wasm guest, changes, until ctx ends. loaded is the content of the
// file when the node was built. Watch also reads the file, changed or not, on each signal from again, and then reopens the
// access log and reads the files that the configuration names: certificates, token files. A file that cannot be applied changes
// nothing; its errors are logged, one a line.
func (n *Node) Watch(ctx context.Context, file string, loaded []byte, again <-chan os.Signal) {
	w := watcher{node: n, file: file, loaded: loaded}
	select {
	case <-n.Ready():
	case <-ctx.Done():
		return
	}
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			w.reload()
		case <-ticks.C:
			w.check()
		}
	}
}

// watcher is the state of one Watch.
type watcher struct {
	node   *Node
	file   string
	loaded []byte      // content of the file when it was last read
	seen   []fileState // of the file, and of those of guests, at the last check
	read   bool        // the files were read in state seen
}

// fileState changes when the file's content does. It is known without reading the file.
type fileState struct {
	modified time.Time
	size     int64
	missing  bool
}

// stateOf returns the state of a file.
func stateOf(file string) fileState {
	info, err := os.Stat(file)
	if err != nil {
		return fileState{missing: true}
	}
	return fileState{modified: info.ModTime(), size: info.Size()}
}

// check reads the files if one has changed, and none has changed since the last check.
func (w *watcher) check() {
	now := []fileState{stateOf(w.file)}
	for _, guest := range w.node.config().Guests() {
		now = append(now, stateOf(guest))
	}
	if !slices.Equal(now, w.seen) {
		w.seen, w.read = now, false
		return
	}
	if w.read {
		return
	}
	w.read = true
	data, err := config.Read(w.file)
	switch {
	case err != nil:
		w.loaded = nil // the file counts as changed when it can be read again
		w.unreadable(err)
	case !bytes.Equal(data, w.loaded) || w.node.guestsChanged():
		w.apply(data)
	}
}

// reload reads changed certificate files, reopens the access log and reads the file, changed or not.
func (w *watcher) reload() {
	w.node.certs.Refresh()
	w.node.reopen()
	data, err := config.Read(w.file)
	if err != nil {
		w.unreadable(err)
		return
	}
	w.apply(data)
}

// apply applies the configuration in data.
func (w *watcher) apply(data []byte) {
	w.loaded = data
	next, err := config.Parse(w.file, data, w.node.extensions.Program())
	if err != nil {
		w.unreadable(err)
		return
	}
	if err := w.node.Apply(next); err != nil {
		w.refused(err)
	}
}

// unreadable counts and logs a file that holds no valid configuration.
func (w *watcher) unreadable(err error) {
	w.node.reloads.count(err, time.Now())
	w.refused(err)
}

// refused logs the errors of a file, one a line.
func (w *watcher) refused(err error) {
	list := split(err)
	var ofFile config.Errors
	if errors.As(err, &ofFile) {
		list = ofFile.Unwrap()
	}
	for _, each := range list {
		where, _, _ := strings.Cut(each.Error(), "\n") // the rest quotes the file
		attrs := []any{"file", w.file, "err", where}
		var r *Refused
		if errors.As(each, &r) {
			attrs = append(attrs, "section", r.Section)
		}
		w.node.log.Error("configuration refused: the previous one stays in use", attrs...)
	}
}
