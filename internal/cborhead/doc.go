// Package cborhead reads and writes the heads of CBOR items (RFC 8949, section 3). A head is the initial byte and the
// argument after it.
//
// A head contains the type of an item and its length, count or value. The package does not read the item's content.
//
//	h, err := cborhead.Read(message, 0)
//	if err == nil && h.Major == cborhead.Text && h.Info != cborhead.Indefinite {
//		fmt.Println(h.Arg, "bytes of text from offset", h.Next)
//	}
package cborhead
