package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/password"
	"example.com/ferry/internal/regularfile"
	"example.com/ferry/node/config"
)

// watchInterval is how often the files are checked. A changed file is read once it has stayed the same for this
// long, as a program may still be writing it.
const watchInterval = time.Second

// Watch applies the configuration to the running node whenever it changes, until ctx ends: its file, a file that it includes or has a
// value from, a token file, or the module of a wasm guest. loaded is what the node was built from. Certificate files are watched by
// themselves. On each signal from again, Watch reads all of them, changed or not, and reopens the access log. Files that cannot be
// applied change nothing; their errors are logged, one a line.
func (n *Node) Watch(ctx context.Context, loaded *config.Source, again <-chan os.Signal) {
	w := watcher{node: n, file: loaded.Name(), loaded: loaded, content: contentDigest(n.config())}
	select {
	case <-n.Ready():
	case <-ctx.Done():
		return
	}
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	signaled := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			w.node.certs.Refresh()
			w.node.reopen()
			signaled = true
		case <-ticks.C:
		}
		switch {
		case n.held.Load() > 0:
		case signaled:
			signaled = false
			w.reload()
		default:
			w.check()
		}
	}
}

// HoldReloads makes Watch wait until release is called: while another process starts with a changed file, this one must not apply the file
// as well, because both would bind its new addresses. A reload in progress ends first.
func (n *Node) HoldReloads() (release func()) {
	n.held.Add(1)
	n.applying.Lock() // until it has ended
	defer n.applying.Unlock()
	return func() { n.held.Add(-1) }
}

// watcher is the state of one Watch.
type watcher struct {
	node    *Node
	file    string
	loaded  *config.Source    // as it was last read
	unread  bool              // it could not be read since
	content [sha256.Size]byte // contentDigest when the files were last read
	seen    []fileState       // of all files at the last check
	read    bool              // the files were read in state seen
}

// contentDigest returns a hash that changes when the content of a file does that the configuration names.
func contentDigest(cfg *config.Config) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, file := range cfg.ContentFiles() {
		data, err := regularfile.Read(file, password.MaxFile)
		fmt.Fprintf(h, "%q %q %v\n", file, data, err != nil)
	}
	h.Sum(sum[:0])
	return sum
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
	cfg := w.node.config()
	var now []fileState
	for _, file := range slices.Concat(w.loaded.Watched(), cfg.Guests(), cfg.ContentFiles()) {
		now = append(now, stateOf(file))
	}
	if !slices.Equal(now, w.seen) {
		w.seen, w.read = now, false
		return
	}
	if w.read {
		return
	}
	w.read = true
	if w.unread || w.loaded.Stale() || w.node.guestsChanged() || contentDigest(cfg) != w.content {
		w.reload()
	}
}

// reload reads the configuration, changed or not, and applies it.
func (w *watcher) reload() {
	next, err := config.ReadAfter(w.file, w.loaded)
	w.unread = err != nil
	if err != nil {
		w.unreadable(err)
		return
	}
	w.loaded = next
	cfg, err := next.ConfigAfter(w.node.extensions.Program(), w.node.compiled())
	if err != nil {
		w.unreadable(err)
		return
	}
	w.content = contentDigest(cfg)
	if err := w.node.applyChecked(cfg); err != nil {
		w.refused(err)
	}
}

// unreadable counts and logs a file that holds no valid configuration.
func (w *watcher) unreadable(err error) {
	w.node.reloads.count(err, time.Now())
	w.refused(err)
	w.node.reloadEnded()
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
