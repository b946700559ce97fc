package pubsub

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/internal/pki"
)

// linkToken is the token that the first node of a cascade has at the second one.
const linkToken = "the token of the first node"

// secondConfig is what the second node of a cascade has besides config.
const secondConfig = `identities:
  - name: first
    token: %s
    publish: ["#"]
    verbs: [publish, forward, trust_validation]
`

// firstConfig is what the first node of a cascade has besides config.
const firstConfig = `forward:
  - name: second
    address: %s://%s
    tags: ["#"]
    token: %s
`

// secondData returns the data directory of the second node.
func (c *Run) secondData() string { return filepath.Join(c.dir, "second") }

// forwarding returns the configuration of the first node's link.
func (c *Run) forwarding(scheme, to string) string {
	text := fmt.Sprintf(firstConfig, scheme, to, linkToken)
	if c.setup.System == FerryQUIC {
		text += fmt.Sprintf("    ca_file: %s\n", filepath.Join(c.secondData(), pki.CAFile))
	}
	return text
}

// startSecond starts the second node of a cascade.
func (c *Run) startSecond() (addr string, err error) {
	if addr, err = ferrynode.FreeAddr(); err != nil {
		return "", err
	}
	if c.secondAdmin, err = ferrynode.FreeAddr(); err != nil {
		return "", err
	}
	scheme := strings.TrimPrefix(string(c.setup.System), "ferry ")
	text := fmt.Sprintf(config, scheme, addr, "full", false, c.secondAdmin, c.secondData()) + fmt.Sprintf(secondConfig, linkToken)
	if c.second, err = c.runFerry(text); err != nil {
		return "", err
	}
	return addr, ferrynode.WaitReady(c.secondAdmin)
}

// AwaitLink waits until the first node of a cascade is connected to the second one and its spool is empty.
func (c *Run) AwaitLink() error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		connected, err := metric(c.meter.admin, `ferry_forward_connected{link="second"}`)
		if err != nil {
			return err
		}
		spooling, err := metric(c.meter.admin, `ferry_forward_spooling{link="second"}`)
		if err != nil || connected == 1 && spooling == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("pubsub: the link is not connected within %v", patience)
		}
	}
}

// NodeCPU returns the CPU time that the first node and, in a cascade, the second one have used so far.
func (c *Run) NodeCPU() (first, second time.Duration) {
	if c.second != nil {
		second = CPU(c.second.PID())
	}
	return CPU(c.node.PID()), second
}

// Validated returns how many messages the second node of a cascade has validated.
func (c *Run) Validated() (uint64, error) { return metric(c.secondAdmin, "ferry_validated_total") }

// Spooled returns how many messages the first node of a cascade has written to its spool.
func (c *Run) Spooled() (uint64, error) {
	return metric(c.meter.admin, `ferry_forward_spooled_total{link="second"}`)
}
