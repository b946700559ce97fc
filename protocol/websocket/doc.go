// Package websocket is the framing of WebSocket (RFC 6455) and its permessage-deflate (RFC 7692), the server's side, without a socket.
//
//	n, f, err := websocket.Next(buf, 1<<20)                // n is 0 until the frame is whole
//	out = websocket.AppendFrame(out, websocket.Pong, f.Payload)
package websocket

// Files: the framing of WebSocket, the server's side: frame.go, and deflate.go for permessage-deflate.
