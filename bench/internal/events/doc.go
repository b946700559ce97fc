// Package events makes EdgeX events of any size, the same ones in each run, and has structs to
// decode them by a library, with the fields in the order of the wire.
//
//	e := events.Binary(events.Large) // the seed's large event: 12 MiB in the third of three readings
//	doc := events.CBOR(e)
package events
