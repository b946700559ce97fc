package rpc

import (
	"context"

	"example.com/ferry/internal/discovery"
)

// DialResolving is Dial with another resolver of names.
func DialResolving(ctx context.Context, target string, cfg *ClientConfig, names discovery.Resolver) (*Client, error) {
	return dial(ctx, target, cfg, names)
}
