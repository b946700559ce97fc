// Package conformance checks implementations of docs/native.md, in any language.
//
// A case plays one end of connections frame by frame and says what the other end does wrong. Client plays the node: the client under test is
// driven by a program of its own, the driver, which carries out instructions (docs/conformance.md). Node plays the clients of a node. The
// package opens no socket and starts no process. Its caller passes connections and drivers. `ferry conformance` is that caller for the
// command line; the tests of ferry's own client and broker are others.
//
//	results := conformance.Client(ctx, conformance.ClientConfig{Start: startDriver, Listen: listen})
//	for _, r := range results {
//		fmt.Println(r)
//	}
package conformance

// Files: the proof of implementations of the wire: run.go is a case while it is played, peer.go the kit's end of a
// connection, driver.go the program around the client under test; client_rules.go and node_rules.go hold in all cases, and
// the other client_*.go and node_*.go are the cases. Connections and processes come from its caller.
