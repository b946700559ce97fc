// Package cborhead reads and writes the heads of CBOR items (RFC 8949, section 3): the initial byte, and the argument that
// follows it.
//
// A head gives an item's type and its length, count or value. The content of an item is up to the caller.
//
//	h, err := cborhead.Read(message, 0)
//	if err == nil && h.Major == cborhead.Text && h.Info != cborhead.Indefinite {
//		fmt.Println(h.Arg, "bytes of text from offset", h.Next)
//	}
package cborhead
