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

// watchInterval is how often the configuration is looked at, and how long it has to stay as it is before it is read: whoever
// writes it may not be done yet.
const watchInterval = time.Second

// Watch keeps the node's proxy as the configuration file says until ctx ends. loaded is what was in the file when the node was
// built. It is read again when it has changed, and whenever again says so; then the access log is opened again too. A file
// that cannot be used is logged, an error a line, and changes nothing; what needs a restart is named in the log.
func (n *Node) Watch(ctx context.Context, file string, loaded []byte, again <-chan os.Signal) {
	w := watcher{node: n, file: file, loaded: loaded}
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			w.told()
		case <-ticks.C:
			w.look()
		}
	}
}

// watcher is a Watch under way.
type watcher struct {
	node   *Node
	file   string
	loaded []byte // what was read last
	seen   state
	done   bool // with seen
}

// state is what tells whether a file has changed, without reading it.
type state struct {
	modified time.Time
	size     int64
	missing  bool
}

// look reads the file if it has changed, and has not since the last look.
func (w *watcher) look() {
	now := state{missing: true}
	if info, err := os.Stat(w.file); err == nil {
		now = state{modified: info.ModTime(), size: info.Size()}
	}
	if now != w.seen {
		w.seen, w.done = now, false
		return
	}
	if w.done {
		return
	}
	w.done = true
	data, err := config.Read(w.file)
	switch {
	case err != nil:
		w.refused(err)
	case !bytes.Equal(data, w.loaded):
		w.use(data)
	}
}

// told reads the file, changed or not.
func (w *watcher) told() {
	if w.node.proxy != nil {
		if err := w.node.proxy.Reopen(); err != nil {
			w.node.log.Error("the access log cannot be opened again", "error", err)
		}
	}
	data, err := config.Read(w.file)
	if err != nil {
		w.refused(err)
		return
	}
	w.use(data)
}

// use has the node do as data says, as far as it can without a restart.
func (w *watcher) use(data []byte) {
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
		n.log.Info("configuration read again: the proxy does as it says", "file", w.file, "addresses", n.proxy.Addresses())
	case n.proxy != nil || next.Proxy != nil:
		restart = append(restart, "proxy")
	}
	if len(restart) > 0 {
		n.log.Warn("configuration read again: these changes need a restart", "file", w.file, "fields", strings.Join(restart, ", "))
	}
}

// refused says why the file cannot be used, an error a line.
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
		where, _, _ := strings.Cut(each.Error(), "\n") // what follows is the line of the file
		w.node.log.Error("configuration refused: the one before stays", "file", w.file, "error", where)
	}
}
