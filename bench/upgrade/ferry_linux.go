package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/admin"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
)

const ferryName = "ferry"

// echoToken is the token of the callers, and of the server that they call.
const echoToken = "the-token-of-the-echo-service"

const ferryConfig = `data_dir: data
identities:
  - {name: device, publish: ['#'], subscribe: ['#']}
  - {name: echo, token: %[10]s, call: ['*'], serve: [%[11]s]}
listeners:
  - address: tcp://%[1]s
  - address: quic://%[1]s
  - {address: 'mqtt://%[2]s', anonymous: device}
proxy:
  listeners:
    - {name: http1, address: '%[3]s', protocol: http1, cluster: web}
    - {name: http2, address: '%[4]s', protocol: http2, cluster: web}
    - {name: https, address: '%[5]s', protocol: http1, cluster: web, tls: {}}
    - {name: bolt, address: '%[6]s', protocol: bolt, cluster: bolt}
  clusters:
    - {name: web, endpoints: [{address: '%[7]s'}]}
    - {name: bolt, endpoints: [{address: '%[8]s'}]}
admin: {address: '%[9]s'}
live: {sensors: false}
`

const ferryStreams = `engine: {address: embedded}
streams: [{name: orders, tags: orders/#, delivery: at-least-once, retention: {age: 1h}}]
`

// ferryNode is a running node.
type ferryNode struct {
	group                                   *group
	name                                    string // of the case
	dir                                     string
	native, mqtt, http1, http2, https, bolt string
	admin                                   string
	backend                                 *clientload.BoltServer
	serving                                 int
}

func ferry() system { return system{name: ferryName, start: startFerry} }

func startFerry(e *experiment, dir, name string) (server, error) {
	bolt, err := clientload.NewBoltServer() // which refuses requests that it has had
	if err != nil {
		return nil, err
	}
	n := &ferryNode{name: name, dir: dir, backend: bolt}
	defer func() {
		if err != nil {
			bolt.Close()
		}
	}()
	for _, at := range []*string{&n.native, &n.mqtt, &n.http1, &n.http2, &n.https, &n.bolt, &n.admin} {
		if *at, err = ferrynode.FreeAddr(); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf(ferryConfig, n.native, n.mqtt, n.http1, n.http2, n.https, n.bolt, e.web.Addr, bolt.Addr, n.admin, echoToken, clientload.EchoService)
	if name == durable {
		config += ferryStreams
	}
	if err = os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	g, cmd, err := launch(dir, []string{filepath.Join(e.dir, ferrynode.Binary), "run", "-c", "node.yaml"}, nil)
	if err != nil {
		return nil, err
	}
	n.group, n.serving = g, cmd.Process.Pid
	if err = ferrynode.WaitReady(n.admin); err != nil {
		g.stop()
		return nil, fmt.Errorf("%w%s", err, outputOf(dir))
	}
	return n, nil
}

func (n *ferryNode) pid() int { return n.serving }

func (n *ferryNode) stop() {
	n.group.stop()
	n.backend.Close()
}

// upgrade does what the command ferry upgrade does.
func (n *ferryNode) upgrade(ctx context.Context) (pause time.Duration, err error) {
	token, err := pki.ReadToken(filepath.Join(n.dir, "data", pki.TokenFile))
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.admin+"/api/upgrade", http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	var done admin.Upgraded
	if err == nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, &done)
	}
	if err != nil || done.PID == 0 {
		return 0, fmt.Errorf("the node responds %s: %s, %w", response.Status, text, err)
	}
	old := n.serving
	n.serving = done.PID
	return done.Paused, until(ctx, "the old process does not end", func() bool { return !alive(old) })
}

// load returns the client of the case.
func (n *ferryNode) load(ctx context.Context) (clientload.Kind, error) {
	trust, err := pki.ClientTLS(filepath.Join(n.dir, "data", pki.CAFile))
	if err != nil {
		return clientload.Kind{}, err
	}
	token, err := pki.ReadToken(filepath.Join(n.dir, "data", pki.TokenFile))
	if err != nil {
		return clientload.Kind{}, err
	}
	var over transport.Transport = tcp.New(nil)
	switch n.name {
	case http2:
		return httpKind(n.name, n.http2, nil), nil
	case https:
		return httpKind(n.name, n.https, trust), nil
	case boltCase:
		return clientload.Bolt{Name: n.name, Addr: n.bolt, Server: n.backend}.Kind(), nil
	case mqttCase:
		return mqttKind(n.mqtt), nil
	case calls:
		return clientload.Calls{Name: n.name, Transport: over, Addr: n.native, Token: []byte(echoToken)}.Kind(ctx)
	case streamTCP, streamUDP, durable:
		if n.name == streamUDP {
			over = quic.New(&quic.Config{ClientTLS: trust})
		}
		return clientload.Stream{Name: n.name, Transport: over, Addr: n.native, Token: []byte(token), Tags: "orders", Durable: n.name == durable}.Kind(ctx)
	}
	return httpKind(n.name, n.http1, nil), nil
}
