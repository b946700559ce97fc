// Package forward connects two nodes: a Link passes the messages of some tags on to another node.
//
// A Link is a client of the other node, and a broker.Forwarder of its own. As long as the connection is up and the other node gives
// credit, a run of messages is copied from the connection that it arrives on to the connection of the Link, as to a subscriber.
// Otherwise the messages wait in a spool on disk and follow in order.
//
//	link, err := forward.New(forward.Config{
//		Config: link.Config{Name: "hub", Spool: spool.Config{Dir: "ferry-data/forward/hub"}}, Node: "edge-1",
//		Target: forward.Target{Tags: []string{"sensors/#"}, Dialer: tcp.New(nil), Addr: "hub:4190", Token: token},
//	})
//	broker.SetForwarders([]broker.Forwarder{link})
package forward

// Files: a link to another node: the wire below an outbox of link. tag.go takes messages from the broker and requests tags,
// send.go writes PUBs with a path, confirm.go asks for the other node's confirmation, connect.go makes a connection and ends
// it. broker/forwarder.go is the broker's side of a link and broker/forwarded_path.go reads the paths that other nodes send.
