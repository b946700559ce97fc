package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The addresses are in namespaces of their own, so they cannot conflict. The new address belongs to a wider network, so that
// the kernel keeps it when the old one is removed.
const (
	nodeAddr   = "10.47.0.1"
	clientAddr = "10.47.0.2/24"
	newAddr    = "10.47.0.3/16"
)

// network is two namespaces with an interface each, joined to the other's.
type network struct{ client, node string }

// newNetwork makes a network that loses percent of the packets each way.
func newNetwork(percent int) (*network, error) {
	n := &network{fmt.Sprintf("ferry-%d-client", os.Getpid()), fmt.Sprintf("ferry-%d-node", os.Getpid())}
	commands := []string{
		"ip netns add " + n.client,
		"ip netns add " + n.node,
		"ip -n " + n.client + " link add net0 type veth peer name net0 netns " + n.node,
		"ip -n " + n.client + " addr add " + clientAddr + " dev net0",
		"ip -n " + n.node + " addr add " + nodeAddr + "/24 dev net0",
	}
	for _, ns := range []string{n.client, n.node} {
		commands = append(commands,
			"ip -n "+ns+" link set lo up",
			"ip -n "+ns+" link set net0 gso_max_segs 1",
			"ip -n "+ns+" link set net0 up",
		)
		if percent > 0 {
			in := "ip netns exec " + ns + " nft "
			commands = append(commands,
				in+"add table inet loss",
				in+"add chain inet loss in { type filter hook input priority 0 ; }",
				in+fmt.Sprintf("add rule inet loss in iifname net0 numgen random mod 100 < %d drop", percent),
			)
		}
	}
	for _, c := range commands {
		if err := run(c); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// move replaces the IP address of the client.
func (n *network) move() error {
	return errors.Join(
		run("ip -n "+n.client+" addr add "+newAddr+" dev net0"),
		run("ip -n "+n.client+" addr del "+clientAddr+" dev net0"),
	)
}

// close removes the namespaces, and with them their interfaces and rules.
func (n *network) close() {
	_ = run("ip netns del " + n.client) // it does not exist if newNetwork has failed
	_ = run("ip netns del " + n.node)
}

func run(command string) error {
	words := strings.Fields(command)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("stream_loss: %s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// possible returns an error if this machine or user cannot create such a network.
func possible() error {
	n, err := newNetwork(1)
	if err != nil {
		return err
	}
	n.close()
	return nil
}
