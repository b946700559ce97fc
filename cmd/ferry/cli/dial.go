package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry/internal/cmdline"
	"example.com/ferry/internal/phrase"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
)

// dialTimeout bounds the time to connect to a node.
const dialTimeout = 5 * time.Second

// nodeFlags are the node that a verb connects to, and the credentials.
type nodeFlags struct {
	Addr      address `short:"a" default:"quic://127.0.0.1:4190" placeholder:"ADDR" help:"The node: ${addresses}. The default is quic://127.0.0.1:4190."`
	CA        string  `name:"ca" placeholder:"FILE" help:"The CA certificate to trust. The default is ca.pem in the data directory."`
	TokenFile string  `placeholder:"FILE" help:"The file with the token. The default is token in the data directory."`
	DataDir   string  `default:"./ferry-data" placeholder:"DIR" help:"The data directory of a node on this machine. The default is ./ferry-data."`
}

// dial connects to the node. It adds to cfg what the flags say.
func (n *nodeFlags) dial(ctx context.Context, e *env, cfg stream.Config) (*stream.Client, error) {
	token, err := n.token()
	if err != nil {
		return nil, err
	}
	trust, err := n.trust()
	if err != nil {
		return nil, err
	}
	level := slog.LevelInfo
	if e.quiet {
		level = slog.LevelError
	}
	cfg.Token, cfg.DialTimeout = []byte(token), dialTimeout
	cfg.Log = slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
	client, err := stream.Dial(ctx, n.Addr.transport.New(node.Security{Client: trust}), n.Addr.rest, &cfg)
	if err != nil {
		return nil, n.explain(err)
	}
	return client, nil
}

func (n *nodeFlags) token() (string, error) {
	path := n.TokenFile
	if path == "" {
		path = filepath.Join(n.DataDir, pki.TokenFile)
	}
	token, err := pki.ReadToken(path)
	if n.TokenFile == "" && errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no token in %s: is a node running? start one with: ferry run\nor name the directory it runs in with --data-dir, or give --token-file and --ca for a node elsewhere", n.DataDir)
	}
	return token, err
}

// trust returns the CA certificates that the node's certificate is verified with; nil, the system's, if there is no CA file.
func (n *nodeFlags) trust() (*tls.Config, error) {
	path := n.CA
	if path == "" {
		path = filepath.Join(n.DataDir, pki.CAFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return pki.ClientTLS(path)
}

// explain adds advice to an error of connecting.
func (n *nodeFlags) explain(err error) error {
	var refused *native.Error
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused) && refused.Code == native.CodeUnauthenticated:
		return fmt.Errorf("%w\nthe node does not know this token: name the one it has with --token-file or --data-dir", err)
	case errors.As(err, &refused), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &untrusted):
		return fmt.Errorf("%w\nthe certificate is not from the authority trusted here: name the node's ca.pem with --ca or --data-dir", err)
	}
	return fmt.Errorf("%w\nis a node running? start one with: ferry run", err)
}

// address is the address of a node.
type address struct {
	transport node.Transport
	rest      string // without the scheme
}

// addressDecoder parses an address on the command line.
func addressDecoder(transports []node.Transport) cmdline.Decoder {
	return func(text string) (any, error) {
		scheme, rest, ok := strings.Cut(text, "://")
		for _, t := range transports {
			if ok && rest != "" && t.Scheme == scheme {
				return address{t, rest}, nil
			}
		}
		return nil, fmt.Errorf("%q is no address: want %s", text, phrase.Or(syntaxes(transports)))
	}
}

// syntaxes returns how the addresses of each transport are written that this binary has.
func syntaxes(transports []node.Transport) []string {
	var all []string
	for _, t := range transports {
		if t.Missing == "" {
			all = append(all, t.Syntax())
		}
	}
	return all
}
