// Package http2 is one end of an HTTP/2 connection, client or server, without a socket (RFC 9113, RFC 7541, RFC 8441).
//
// A driver passes received bytes to Conn.Receive, and takes the bytes to send as an Output. A Handler gets heads that are decoded
// and judged, pieces of bodies, and the ends of streams. What breaks a rule of RFC 9113 never reaches the Handler. Flow control is
// for each stream: a stream whose body is not consumed does not stop the others. In the steady state nothing is allocated.
//
//	conn := http2.NewServer(nil, handler, output)
//	n, err := conn.Receive(buf) // calls handler.Headers(stream, head, end), handler.Data(stream, piece, end)
//	e := stream.BeginHeaders()  // in the Handler, or later
//	e.Status(200)
//	e.FieldString("content-type", "text/plain")
//	e.End(false)
//	stream.Write(body, true)
//	stream.Release()
//
// # What a peer can make a Conn hold
//
// Conn itself keeps no received body. It keeps a field block of several frames: at most twice Config.MaxHeader. While a head is
// passed on, its decoded fields take as much again. HPACK's two tables take at most 32 KiB, and eight times a Config.HeaderTable that
// is larger than 4 KiB. Each stream takes some 200 bytes and its send queue: Config.QueuePerStream and one Write of the driver. So
// MaxStreams times QueuePerStream bounds the bodies that wait for a peer that gives no window. Responses and control frames that
// wait in Output for a peer that does not read are bounded by 16 KiB and the heads of three times MaxStreams and 100 responses. The
// ids of 256 streams that were reset take 2 KiB. A driver that withholds Stream.Consumed holds at most Config.StreamWindow for
// each stream.
package http2

// Files: HTTP/2, both sides: Conn takes received bytes and calls a Handler (receive.go, receive_headers.go,
// receive_data.go); hpack_decode.go and hpack_table.go decode heads, head_judge.go refuses malformed ones, encoder.go writes
// them; stream_state.go draws a stream's states; send.go shares the windows (window.go) between streams in turn; abuse.go
// and unread.go bound what a peer can cost.
