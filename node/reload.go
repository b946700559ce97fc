package node

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"example.com/ferry/node/config"
	"example.com/ferry/proxy"
)

// watchInterval is how often the configuration file is checked. A changed file is read once it has stayed the same for this
// long, as a program may still be writing it.
const watchInterval = time.Second

// Watch reloads the node's proxy from the configuration file until ctx ends. loaded is the content of the file when the node was
// built. Watch reads the file when it has changed, and on each signal from again, which also reopens the access log and reads changed certificates without delay. A file with
// errors changes nothing; they are logged, one a line. Changed fields that need a restart are logged, too.
func (n *Node) Watch(ctx context.Context, file string, loaded []byte, again <-chan os.Signal) {
	w := watcher{node: n, file: file, loaded: loaded}
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
	loaded []byte    // content of the file when it was last read
	seen   fileState // at the last check
	read   bool      // the file was read in state seen
}

// fileState changes when the file's content does. It is known without reading the file.
type fileState struct {
	modified time.Time
	size     int64
	missing  bool
}

// check reads the file if it has changed, and has not changed since the last check.
func (w *watcher) check() {
	now := fileState{missing: true}
	if info, err := os.Stat(w.file); err == nil {
		now = fileState{modified: info.ModTime(), size: info.Size()}
	}
	if now != w.seen {
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
		w.refused(err)
	case !bytes.Equal(data, w.loaded):
		w.apply(data)
	}
}

// reload reads changed certificate files, reopens the access log and reads the file, changed or not.
func (w *watcher) reload() {
	w.node.certs.Refresh()
	if w.node.proxy != nil {
		if err := w.node.proxy.Reopen(); err != nil {
			w.node.log.Error("cannot reopen the access log", "err", err)
		}
	}
	data, err := config.Read(w.file)
	if err != nil {
		w.refused(err)
		return
	}
	w.apply(data)
}

// apply applies the configuration in data as far as that needs no restart.
func (w *watcher) apply(data []byte) {
	w.loaded = data
	n := w.node
	next, err := config.Parse(w.file, data, n.extensions.Program())
	if err != nil {
		w.refused(err)
		return
	}
	restart := n.cfg.Changed(next)
	switch {
	case n.proxy != nil && next.Proxy != nil:
		if err := n.proxy.Reload(next.Proxy); err != nil {
			w.refused(err)
			return
		}
		n.log.Info("configuration read again: the proxy uses it", "file", w.file, "addresses", n.proxy.Addresses())
	case n.proxy != nil || next.Proxy != nil:
		restart = append(restart, "proxy")
	}
	if len(restart) > 0 {
		n.log.Warn("configuration read again: these changes need a restart", "file", w.file, "fields", strings.Join(restart, ", "))
	}
}

// refused logs the errors of a file, one a line.
func (w *watcher) refused(err error) {
	list := []error{err}
	var ofFile config.Errors
	var ofProxy proxy.Errors
	switch {
	case errors.As(err, &ofFile):
		list = ofFile.Unwrap()
	case errors.As(err, &ofProxy):
		list = ofProxy.Unwrap()
	}
	for _, each := range list {
		where, _, _ := strings.Cut(each.Error(), "\n") // the rest quotes the file
		w.node.log.Error("configuration refused: the previous one stays in use", "file", w.file, "err", where)
	}
}
