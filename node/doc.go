// Package node is the daemon that `ferry run` starts, built from one configuration: listeners, the broker between them, the
// machine's sensors, functions, the proxy and the admin server. A part that the configuration does not name is not started: a
// node with a proxy and without listeners has no streams.
//
// Read build.go first: it makes every part, in the order in which a message meets them.
//
//	formats := all.Formats()
//	n, err := node.Build(config.Default(), node.Extensions{Formats: formats, Functions: node.Functions(formats)})
//	if err != nil {
//		return err
//	}
//	err = n.Run(ctx) // until ctx ends, then drains
package node
