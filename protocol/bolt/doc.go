// Package bolt reads, renumbers and writes the frames of SOFABolt: version 1, version 2, and version 2 with CRC-32.
//
// It holds no socket, no goroutine and no clock. Next tells from a frame's first 20 to 24 bytes what it is and how long it
// is, so that a frame larger than any buffer can be forwarded in pieces; the accessors of Frame and Header read what has
// arrived in place, and SetID gives a frame another request id where it lies. A CRC is adjusted for the four bytes that
// change, not computed again: one that was wrong stays wrong, so it still speaks for all between its two ends. Append,
// AppendResponse and AppendHeartbeat write frames.
//
//	f, need, err := bolt.Next(buf, bolt.Limits{})
//	if err == nil && need == 0 && len(buf) >= f.FrameLen() {
//		service, ok, err := f.Header().Lookup(bolt.Service)
//		f.SetID(4711)
//	}
//
// The format has no specification but its code: it is read here as com.alipay.sofa:bolt 1.6 reads and writes it. Where
// that code and other implementations would read the same bytes differently, the frame is refused.
package bolt
