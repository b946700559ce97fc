// Reconnect measures how fast a node lets devices with passwords in that all come back at once, and what others notice.
package main

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/device"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
)

func main() { harness.Main(newExperiment(10_000).question()) }

// The figures.
const (
	logins   = "logins/s"
	cpu      = "CPU us a login"
	p99      = "p99 ms of other devices"
	p99Quiet = "p99 ms of other devices, before"
	times    = "p99, times that before"
	failures = "failures"
)

// The cases.
const (
	remembered = "within ten minutes"
	restarted  = "after a start of the node"
)

const (
	ferryRow = "ferry"
	others   = 50
	rate     = 1000 // messages a second of the others together
	dialers  = 200  // devices that connect at a time
	spare    = 500  // descriptors besides those of devices
)

type experiment struct {
	devices int
	dir     string
	config  string
}

// newExperiment takes as many devices as the limit of descriptors allows, and at most n.
func newExperiment(n int) *experiment {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Max < uint64(n+spare) {
		n = max(1, int(limit.Max)-spare)
	}
	return &experiment{devices: n}
}

func (e *experiment) question() harness.Question {
	return harness.Question{
		Name: "reconnect", Title: "Devices with passwords that come back at once", Unit: logins, Better: harness.Higher,
		About: fmt.Sprintf("%d devices connect by MQTT, each with a user and a password of its own and from an address of its own, %d at a time. Meanwhile %d others publish %d messages a second "+
			"with QoS 1; latency counts from when a message was due to its acknowledgement, and is compared with that before. Each device gets its CONNACK with code 0. The node has core 0 "+
			"to itself, all devices share core 1.", e.devices, dialers, others, rate),
		Figures: []string{cpu, p99, p99Quiet, times, failures},
		Cases:   []string{remembered, restarted},
		Prepare: e.prepare,
		Checks:  []harness.Check{{Name: "each device is let in with its password, and none with another one", Run: e.check}},
		Contenders: []harness.Contender{{Name: ferryRow, Kind: harness.Ferry, Version: "this commit", Measure: func(name string, budget time.Duration) (harness.Figures, error) {
			return e.measure(name, max(20*budget, 50*time.Millisecond))
		}}},
		Goals: []harness.Goal{
			harness.AtLeast(1000, "logins/s, "+remembered, func(r *harness.Result) float64 { return r.Stat(ferryRow, remembered, logins).Median }),
			harness.AtMost(2, "p99 of other devices, "+remembered+", times that before", func(r *harness.Result) float64 { return r.Stat(ferryRow, remembered, times).Median }),
		},
		Notes: []string{
			"Within ten minutes: the devices were connected before, and the node remembers their logins. After a start of the node: it compares each password with its hash, of the form $6$ of mosquitto_passwd, " +
				"which is one SHA-512. A hash of argon2id takes some 30 ms of CPU time on purpose.",
		},
	}
}

func (e *experiment) prepare(dir string) error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	users, grants := filepath.Join(dir, "users"), filepath.Join(dir, "grants")
	var text strings.Builder
	for i := range e.devices {
		l := login(i)
		sum := sha512.Sum512(append([]byte(l.Password), "salt of 12 b"...)) // the form $6$ of mosquitto_passwd
		fmt.Fprintf(&text, "%s:$6$%s$%s\n", l.User, base64.StdEncoding.EncodeToString([]byte("salt of 12 b")), base64.StdEncoding.EncodeToString(sum[:]))
	}
	if err := os.WriteFile(users, []byte(text.String()), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(grants, []byte("pattern readwrite devices/%u/#\n"), 0o600); err != nil {
		return err
	}
	e.config = fmt.Sprintf("limits: {max_connections: %[1]d}\nmqtt: {sessions: %[1]d, password_file: %[2]s, acl_file: %[3]s}\n", e.devices+spare, users, grants)
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	return keepalive.PinProcess([]int{1})
}

func login(i int) device.Login {
	return device.Login{User: fmt.Sprintf("device-%d", i), Password: fmt.Sprintf("password-%d", i)}
}

func (e *experiment) measure(name string, quiet time.Duration) (harness.Figures, error) {
	node, err := device.Start(e.dir, e.config)
	if err != nil {
		return nil, err
	}
	defer node.Stop()
	clients, err := device.Dial(node.Addr, others, device.Login{})
	if err != nil {
		return nil, err
	}
	defer device.Close(clients)
	if name == remembered {
		all, err := e.connect(node)
		if err != nil {
			return nil, err
		}
		device.Close(all)
	}
	before := device.Publish(clients, rate, quiet)
	used, err := node.CPU()
	if err != nil {
		return nil, err
	}
	var during device.Result
	var publishing sync.WaitGroup
	ended := make(chan struct{})
	publishing.Go(func() {
		for { // until all devices are back
			r := device.Publish(clients, rate, max(quiet/4, 50*time.Millisecond))
			during.Sent, during.Failures = during.Sent+r.Sent, during.Failures+r.Failures
			during.Times.Merge(r.Times)
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	began := time.Now()
	all, err := e.connect(node)
	took := time.Since(began)
	after, errCPU := node.CPU()
	close(ended)
	publishing.Wait()
	device.Close(all)
	if err != nil || errCPU != nil {
		return nil, fmt.Errorf("%w%w: %s", err, errCPU, node.Output())
	}
	ms := func(r device.Result) float64 { return r.Times.Quantile(0.99).Seconds() * 1000 }
	f := harness.Figures{
		logins: float64(e.devices) / took.Seconds(), cpu: float64((after - used).Microseconds()) / float64(e.devices),
		p99: ms(during), p99Quiet: ms(before), times: ms(during) / ms(before), failures: float64(before.Failures + during.Failures),
	}
	fmt.Fprintf(os.Stderr, "reconnect: %s: %.3v\n", name, f)
	return f, nil
}

// connect connects all devices.
func (e *experiment) connect(node *device.Node) ([]*device.Client, error) {
	all := make([]*device.Client, e.devices)
	errs := make(chan error, dialers)
	var next atomic.Int64
	for range dialers {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= e.devices {
					errs <- nil
					return
				}
				var err error
				if all[i], err = device.ConnectFrom(net.IPv4(127, 1, byte(i>>8), byte(i)), node.Addr, fmt.Sprintf("client-%d", i), login(i)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var failed error
	for range dialers {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return all, failed
}

// check connects a few devices with their passwords, and with others.
func (e *experiment) check() error {
	node, err := device.Start(e.dir, e.config)
	if err != nil {
		return err
	}
	defer node.Stop()
	for i := range min(e.devices, 50) {
		l := login(i)
		c, err := device.Connect(node.Addr, "c", l)
		if err != nil {
			return err
		}
		device.Close([]*device.Client{c})
		l.Password = login(i + 1).Password
		if c, err := device.ConnectFrom(net.IPv4(127, 2, 0, byte(i)), node.Addr, "c", l); err == nil {
			device.Close([]*device.Client{c})
			return fmt.Errorf("%s is let in with the password of another device", l.User)
		}
	}
	return nil
}
