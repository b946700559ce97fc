package natsnode

import (
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Version is that of the server.
const Version = "nats-server v" + server.VERSION

const startTimeout = 10 * time.Second

// Start starts a server at addr, which may have port 0, and returns its address. The server ends with the process.
func Start(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	opts := &server.Options{Host: host, NoSigs: true, NoLog: true}
	if opts.Port, err = strconv.Atoi(port); err != nil {
		return "", err
	}
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	node, err := server.NewServer(opts)
	if err != nil {
		return "", err
	}
	node.Start()
	if !node.ReadyForConnections(startTimeout) {
		return "", errors.New("natsnode: the server did not start within " + startTimeout.String())
	}
	return node.Addr().String(), nil
}
