// Package bolt reads, renumbers and writes the frames of SOFABolt: version 1, version 2, and version 2 with CRC-32.
//
// The package has no socket, no goroutine and no clock. Next finds the type and the length of a frame in its first 20 to 24
// bytes, so a proxy can forward a frame that is larger than its buffer in pieces. The methods of Frame and Header return views
// of the bytes that have arrived. SetID replaces the request id in place. SetID adjusts the CRC for the four changed bytes and
// does not compute it again. So a wrong CRC stays wrong, and the CRC protects the frame from end to end. Append,
// AppendResponse and AppendHeartbeat write frames.
//
//	f, need, err := bolt.Next(buf, bolt.Limits{})
//	if err == nil && need == 0 && len(buf) >= f.FrameLen() {
//		service, ok, err := f.Header().Lookup(bolt.Service)
//		f.SetID(4711)
//	}
//
// The format has no specification. This package follows com.alipay.sofa:bolt 1.6. It refuses a frame that another
// implementation would read differently.
package bolt

// Files: SOFABolt v1, v2 and v2 with CRC-32: Next reads a frame's fixed header (frame.go), Header finds a key in an encoded
// map, SetID renumbers in place and puts the CRC right (crc.go).
