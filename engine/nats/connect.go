package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
)

// ClusterConfig configures a connection to a server, or to a cluster, that runs elsewhere.
type ClusterConfig struct {
	// Address is nats:// or tls:// and the servers, separated by commas: nats://host1:4222,host2:4222. The default port is 4222.
	Address string

	// CredentialsFile has the JWT and the key of a user. "" means none.
	CredentialsFile string

	// TLS is used with tls://, or if the server asks for it. nil means the authorities of the system.
	TLS *tls.Config

	// Name is this process's, shown by the server.
	Name string

	// Log receives lost connections. nil means slog.Default.
	Log *slog.Logger
}

const maxReplicas = 5 // of JetStream

// Connect connects to servers. It tries until one accepts or ctx ends.
func Connect(ctx context.Context, c ClusterConfig) (*Engine, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	urls, err := splitAddress(c.Address)
	if err != nil {
		return nil, err
	}
	var options []natsgo.Option
	if c.CredentialsFile != "" {
		options = append(options, natsgo.UserCredentials(c.CredentialsFile))
	}
	if c.TLS != nil {
		options = append(options, natsgo.Secure(c.TLS))
	}
	caps := engine.Capabilities{Name: "nats", Durable: true, Sync: engine.SyncUnknown, MaxReplicas: 1, Shared: true, Address: c.Address}
	e, err := newEngine(ctx, caps, c.Log, strings.Join(urls, ","), options...)
	if err != nil {
		return nil, err
	}
	if e.read.ConnectedClusterName() != "" {
		e.caps.MaxReplicas = maxReplicas // Open refuses more than the cluster has
	}
	return e, nil
}

// splitAddress returns the URLs of an address. The servers behind the first may leave out the scheme.
func splitAddress(address string) ([]string, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "nats" && scheme != "tls" {
		return nil, fmt.Errorf("engine: address %q: want nats://host or tls://host, several hosts separated by commas", address)
	}
	var urls []string
	for host := range strings.SplitSeq(rest, ",") {
		host = strings.TrimPrefix(strings.TrimSpace(host), scheme+"://")
		if host == "" || strings.Contains(host, "://") {
			return nil, fmt.Errorf("engine: address %q: %q is no host", address, host)
		}
		urls = append(urls, scheme+"://"+host)
	}
	return urls, nil
}

// supported returns an error if the server lacks what every stream needs.
func (e *Engine) supported(c engine.Config) error {
	lacks := func(why string) error {
		return &engine.UnsupportedError{Engine: e.caps.Name, Stream: c.Name, Field: "address", Why: e.caps.Address + ": " + why}
	}
	if v := e.read.ConnectedServerVersion(); v != "" && olderThan(v, 2, 12) {
		return lacks("nats-server " + v + " is older than 2.12, which stores batches at once")
	}
	if js, _ := e.read.ConnectedServerJetStream(); !js && e.read.IsConnected() && e.read.ConnectedClusterName() == "" {
		return lacks("the server has no JetStream")
	}
	return nil
}

func olderThan(version string, major, minor int) bool {
	a, rest, _ := strings.Cut(version, ".")
	b, _, _ := strings.Cut(rest, ".")
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	return errors.Join(err1, err2) == nil && (x < major || x == major && y < minor)
}
