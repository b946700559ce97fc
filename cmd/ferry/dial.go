package main

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

	"example.com/ferry/internal/pki"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
)

// dialTimeout is how long a node may take to answer.
const dialTimeout = 5 * time.Second

// nodeFlags say which node a verb talks to, and as whom.
type nodeFlags struct {
	Addr      address `short:"a" default:"quic://127.0.0.1:4190" placeholder:"ADDR" help:"The node: quic://, tls:// or tcp://HOST:PORT, or unix://PATH; quic://127.0.0.1:4190 if left out."`
	CA        string  `name:"ca" placeholder:"FILE" help:"The certificate to trust; ca.pem of the data directory if left out."`
	TokenFile string  `placeholder:"FILE" help:"Where the token is; token of the data directory if left out."`
	DataDir   string  `default:"./ferry-data" placeholder:"DIR" help:"The data directory of a node on this machine, ./ferry-data if left out."`
}

// dial connects to the node.
func (n *nodeFlags) dial(ctx context.Context, e *env, name string) (*stream.Client, error) {
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
	client, err := stream.Dial(ctx, n.transport(trust), n.Addr.rest, &stream.Config{
		Token: []byte(token), Name: name, DialTimeout: dialTimeout,
		Log: slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level})),
	})
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

// trust returns the certificates that the node's must come from; nil, the system's, where there is no file to say so.
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

func (n *nodeFlags) transport(trust *tls.Config) transport.Transport {
	switch n.Addr.scheme {
	case "tcp":
		return tcp.New(nil)
	case "tls":
		return tcp.NewTLS(&tcp.Config{ClientTLS: trust})
	case "unix":
		return unix.New(nil)
	}
	return quic.New(&quic.Config{ClientTLS: trust})
}

// explain says what to do about a node that could not be reached.
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

// address is where a node listens.
type address struct{ scheme, rest string }

// UnmarshalText parses what the user wrote.
func (a *address) UnmarshalText(text []byte) error {
	var ok bool
	a.scheme, a.rest, ok = strings.Cut(string(text), "://")
	switch a.scheme {
	case "quic", "tls", "tcp", "unix":
		if ok && a.rest != "" {
			return nil
		}
	}
	return fmt.Errorf("%q is no address: want quic://HOST:PORT, tls://HOST:PORT, tcp://HOST:PORT or unix://PATH", text)
}
