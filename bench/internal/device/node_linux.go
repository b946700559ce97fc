package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/pinned"
)

// Node is a running node with core 0 to itself.
type Node struct {
	*pinned.Process
	Addr string // of MQTT
	Web  string // of HTTP
	dir  string
}

// Start starts the binary that ferrynode.Build has made in dir. more is added to the configuration, which lets anybody in as guest.
func Start(dir, more string) (*Node, error) {
	var addrs [3]string
	for i := range addrs {
		var err error
		if addrs[i], err = ferrynode.FreeAddr(); err != nil {
			return nil, err
		}
	}
	n := &Node{Addr: addrs[0], Web: addrs[1]}
	var err error
	if n.dir, err = os.MkdirTemp(dir, "node"); err != nil {
		return nil, err
	}
	file := filepath.Join(n.dir, "node.yaml")
	text := fmt.Sprintf("listeners: [{address: 'mqtt://%s', anonymous: guest}, {address: 'http://%s', anonymous: guest}]\n"+
		"identities: [{name: guest, publish: ['#'], subscribe: ['#']}]\nadmin: {address: %s}\ndata_dir: %s\n%s",
		addrs[0], addrs[1], addrs[2], filepath.Join(n.dir, "data"), more)
	if err = os.WriteFile(file, []byte(text), 0o600); err == nil {
		n.Process, err = pinned.Start([]int{0}, n.dir, "sh", "-c", `ulimit -n "$(ulimit -Hn)" && exec "$@"`, "sh", filepath.Join(dir, ferrynode.Binary), "run", "-c", file)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.dir))
	}
	if err := ferrynode.WaitReady(addrs[2]); err != nil {
		n.Stop()
		return nil, fmt.Errorf("%w: %s", err, n.Output())
	}
	return n, nil
}

// Stop ends the node, and removes what it has stored.
func (n *Node) Stop() {
	n.Process.Stop()
	_ = os.RemoveAll(n.dir)
}
