// Package events makes EdgeX events of any size, the same events in each run. It also has structs for decoding the events by a
// library; their fields are in the order of the wire.
//
//	e := events.Binary(events.Large) // three readings, the third one with 12 MiB
//	doc := events.CBOR(e)
package events
