package cli

import (
	"context"
	"crypto/rand"
	"io"

	"example.com/ferry/node"
	"example.com/ferry/protocol/native/conformance"
)

type conformanceNodeCmd struct {
	caseFlags
	CA        string  `name:"ca" placeholder:"FILE" help:"The CA certificate to trust, for tls. The default is ca.pem in the data directory."`
	TokenFile string  `placeholder:"FILE" help:"The file with the token. The default is token in the data directory."`
	DataDir   string  `default:"./ferry-data" placeholder:"DIR" help:"The data directory of a node on this machine. The default is ./ferry-data."`
	Tags      string  `default:"conformance" placeholder:"PREFIX" help:"The prefix of tags that the node does not store. The default is conformance."`
	Stored    string  `placeholder:"PREFIX" help:"The prefix of tags that the node stores at least once, all in one stream. Without it, the cases about stored streams are skipped."`
	Forbidden string  `placeholder:"TAG" help:"A tag that the identity may neither publish on nor subscribe to. Without it, the cases about it are skipped."`
	Addr      address `arg:"" default:"tcp://127.0.0.1:4190" placeholder:"ADDR" help:"The node, over a transport with one stream, such as tcp://HOST:PORT or tls://HOST:PORT. The default is tcp://127.0.0.1:4190."`
}

// Help returns the part of ferry conformance node --help that is not in the grammar.
func (*conformanceNodeCmd) Help() string {
	return `ferry connects to the node as several clients, frame by frame. Some of the frames are malformed, so the node's log has errors. What the identity may not do is skipped: it needs to publish and subscribe below the prefixes, and to call and serve conformance.*. docs/conformance.md lists the cases.

Messages and durables of the cases stay in the stream of --stored. Their tags begin with the prefix and the name of the case.

Exit status: 0 no case has failed, 1 a case has failed.

Examples:

    ferry conformance node tcp://127.0.0.1:4190
    ferry conformance node --stored orders --run '^(stored|durable)/' tls://node.example:4190`
}

// Run runs the cases.
func (c *conformanceNodeCmd) Run(e *env) error {
	scheme := c.Addr.transport.Scheme
	if scheme == "quic" {
		return usagef("%s: the cases need a transport with one stream, such as tcp or tls", scheme)
	}
	flags := nodeFlags{Addr: c.Addr, CA: c.CA, TokenFile: c.TokenFile, DataDir: c.DataDir}
	token, err := flags.token()
	if err != nil {
		return err
	}
	trust, err := flags.trust()
	if err != nil {
		return err
	}
	t := c.Addr.transport.New(node.Security{Client: trust})
	return c.play(e, func(ctx context.Context, o conformance.Options) []conformance.Result {
		return conformance.Node(ctx, conformance.NodeConfig{
			Options: o, Token: []byte(token), Tags: c.Tags, Stored: c.Stored, Forbidden: c.Forbidden, Salt: rand.Text()[:8],
			Dial: func(ctx context.Context) (io.ReadWriteCloser, error) { return t.Dial(ctx, c.Addr.rest) },
		})
	})
}
