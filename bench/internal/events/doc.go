// Package events makes EdgeX events of any size, the same ones in each run, and has what a program needs that decodes them
// by a library: structs with the fields in the order of the wire.
//
//	e := events.Binary(events.Large) // the seed's large event: 12 MiB in the third of three readings
//	doc := events.CBOR(e)
package events
