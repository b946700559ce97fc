// Package web serves streams over HTTP/1.1: devices and scripts publish by POST, and browsers and scripts subscribe by server-sent events
// or WebSocket. docs/http.md describes the interface.
//
// Every client is a client of the broker (broker.Local), under the same identities, limits and validation as a native one. Event loops drive
// the connections: there is no goroutine for a connection, and an idle one has no buffer.
//
//	s, err := web.Listen(web.Config{Broker: b, Config: edge.Config{Address: "127.0.0.1:8080"}})
//	err = s.Serve(ctx)
package web

// Files: streams over HTTP and WebSocket, on event loops. request.go is a request from its first byte to its response
// (route.go decides, respond.go writes), publish.go a POST, publisher.go the client of the broker that the requests of a
// token share; events.go and socket.go are connections that receive, and subscriber.go is what they have in common;
// loop_state.go is what belongs to a loop.
