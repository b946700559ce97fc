package node

import (
	"errors"
	"fmt"
	"path/filepath"

	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/internal/filelock"
)

// dataLock is the file in the data directory whose lock a node with streams has, and a command that writes in its place. It covers what one process
// writes: streams, the state of MQTT, spools of links and bridges, deployed functions, and the node's id. Nodes that only proxy do not take it: they share
// the CA, the token and certificates.
const dataLock = "node.lock"

// lockData takes the lock of what a node writes to dir.
func lockData(dir string) (*filelock.Lock, error) {
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	lock, err := filelock.Take(filepath.Join(dir, dataLock))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("data_dir: %w: stop that process, or name another directory", err)
	}
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	return lock, nil
}

// unlockData lets another process write what this node has written.
func (n *Node) unlockData() {
	if n.data != nil {
		closeQuietly(n.data)
		n.data = nil
	}
}
