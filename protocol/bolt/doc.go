// Package bolt reads, renumbers and writes the frames of SOFABolt: version 1, version 2, and version 2 with CRC-32.
//
// It holds no socket, no goroutine and no clock. Next reads type and length of a frame from its first 20 to 24 bytes, so that a frame
// larger than any buffer can be forwarded in pieces. The accessors of Frame and Header read the bytes that have arrived in place, and
// SetID replaces the request id in place. The CRC is adjusted for the four bytes that change, not computed again: a wrong CRC stays
// wrong, so it protects the frame from end to end. Append, AppendResponse and AppendHeartbeat write frames.
//
//	f, need, err := bolt.Next(buf, bolt.Limits{})
//	if err == nil && need == 0 && len(buf) >= f.FrameLen() {
//		service, ok, err := f.Header().Lookup(bolt.Service)
//		f.SetID(4711)
//	}
//
// The format has no specification. This package follows com.alipay.sofa:bolt 1.6. A frame that this and other implementations would
// read differently is refused.
package bolt
