// Package edge is what the listeners of devices have in common, whatever their protocol: sockets, TLS, WebSocket, places for clients that are not identified yet, the end of
// connections, and logins by password. A protocol gives the handler of new connections, which parses what they send.
//
//	l := &edge.Listener{}
//	err := l.Listen(edge.Config{Address: "127.0.0.1:7007"},
//		edge.Service{Name: "echo", Broker: b, MaxUnread: 64 << 10, First: func(on *edge.Loop) loop.Handler { return newHandler(on) }})
package edge

// Files: what the listeners of devices have in common: listener.go binds an address, with TLS or without, loop.go is what
// belongs to a loop and how connections end, logins.go compares passwords.
