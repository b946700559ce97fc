// Package jsonrpc carries calls as JSON-RPC 2.0 and 1.0 over HTTP POST, for browsers, scripts and clients in any language, over any
// transport. A server speaks HTTP/1.1 and HTTP/2, and a client HTTP/1.1.
//
// A request is POST / with one of the content types application/json, application/json-rpc and application/jsonrpc2. In application/json
// the member "jsonrpc":"2.0" selects version 2.0, otherwise it is 1.0. A method has its full name, such as greeter.Greeter.Hello, or the end
// of it, Greeter.Hello, if that is unambiguous. Parameters are an object, or a list with one item. A batch is a list of requests,
// which are handled at the same time. A notification has no response: the HTTP status is then 204.
//
// POST /Service/Method is a plain call: the body is the value alone, in JSON or Protocol Buffers (application/proto), as curl and clients of Connect
// send it. Its errors have the statuses of HTTP and the object of Connect.
//
//	curl -H 'Content-Type: application/json' -d '{"name":"Bo"}' http://127.0.0.1:9103/greeter.Greeter/Hello
//
// Errors of a JSON-RPC call have the HTTP status 200 and an error object; package envelope maps its code to a code of package call and back. HTTP's
// own errors are 404 (another path), 405 (another method), 413 (too large) and 415 (another content type or encoding).
//
// Metadata are header fields; those of a trailer begin with Trailer-, so no other name may. Values of names that end in -bin are base64. The header field
// Ferry-Timeout-Ms is the time in milliseconds that the caller waits. A request may be compressed with gzip or zstd
// (Content-Encoding); its response then has the same encoding. The response of a batch has no metadata.
//
//	srv := rpc.NewServer(nil)
//	l, err := srv.Listen(ctx, jsonrpc.Protocol{}, tcp.Transport{}, "127.0.0.1:9103")
package jsonrpc

// Files: JSON-RPC over HTTP POST, on internal/h1conn and internal/h2conn: listener.go and handler.go are the server,
// http2.go has the requests of a connection of HTTP/2, plain.go has calls without JSON-RPC (POST /Service/Method),
// webhandler.go is an http.Handler, servercall.go is one of its calls, methods.go finds short names; client.go keeps
// connections and clientcall.go makes a call; metadata.go maps metadata to header fields.
