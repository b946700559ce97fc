// Package incremental searches a message that arrives in pieces.
//
// A format implements a Grammar, which reads the next head or key and returns the size of the item. The Search joins
// pieces where a head or key is cut, skips the rest of the item without copying it, and keeps the bytes of the sought
// value. CountedGrammar is the Grammar of formats whose containers count their items.
//
//	search := incremental.New(Format{}, grammar, options)
//	result, err := search.Feed(piece)
package incremental
