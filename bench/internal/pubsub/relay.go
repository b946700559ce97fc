package pubsub

import (
	"context"
	"crypto/tls"
	"errors"

	"example.com/ferry/bench/internal/relay"
	"example.com/ferry/internal/pki"
)

func (s spec) network() relay.Network {
	if s.System == RelayQUIC {
		return relay.QUIC
	}
	return relay.TCP
}

// relayTrust returns the certificate that the ends of a QUIC relay verify the node with.
func (s spec) relayTrust() (*tls.Config, error) {
	if s.network() == relay.TCP {
		return nil, nil
	}
	return trust(s.Dir)
}

func relayNode(s spec, fail func(error)) (string, error) {
	id, err := pki.Open(pki.Config{Dir: s.Dir})
	if err != nil {
		return "", err
	}
	node, err := relay.Listen(s.network(), s.Addr, id.ServerTLS())
	if err != nil {
		return "", err
	}
	go func() { fail(errors.Join(errors.New("the relay ended"), node.Serve())) }()
	return node.Addr(), nil
}

type relaySource struct{ *relay.Publisher }

func (r relaySource) send(tag int, payload []byte) error { return r.Send(tag, payload) }
func (r relaySource) flush() error                       { return r.Flush() }
func (r relaySource) connects() int                      { return 1 }

func relayPublish(ctx context.Context, s spec) (publisher, error) {
	c, err := s.relayTrust()
	if err != nil {
		return nil, err
	}
	p, err := relay.Publish(ctx, s.network(), s.Addr, c)
	return relaySource{p}, err
}

func relaySubscribe(ctx context.Context, s spec, take func(tag int, payload []byte), fail func(error)) (func() int, error) {
	c, err := s.relayTrust()
	if err != nil {
		return nil, err
	}
	sub, err := relay.Subscribe(ctx, s.network(), s.Addr, c)
	if err != nil {
		return nil, err
	}
	go func() { fail(errors.Join(errors.New("the relay closed the connection"), sub.Each(take))) }()
	return once, nil
}
