// Package node is the daemon that `ferry run` starts: listeners, the broker between them, the machine's sensors, functions
// on goroutines, on a pool or in processes of their own, the proxy, and the admin server, put together from one
// configuration. What that does not name is not there: a node with a proxy and no listeners has no streams at all.
//
// build.go is the place to read: it names everything there is, in the order in which a message meets it.
//
//	formats := all.Formats()
//	n, err := node.Build(config.Default(), node.Extensions{Formats: formats, Functions: node.Functions(formats)})
//	if err != nil {
//		return err
//	}
//	err = n.Run(ctx) // until ctx ends, then drains
package node
