// Package incremental searches a message that arrives in pieces.
//
// A format implements a Grammar, which reads the next head or key and returns the size of the item. The Search handles
// the pieces: if a head or key is split between two pieces, the Search joins its parts. It skips the rest of an item
// without copying, and stores the bytes of the value on the path. CountedGrammar is the Grammar of formats whose
// containers begin with the number of their items.
//
//	search := incremental.New(Format{}, grammar, options)
//	result, err := search.Feed(piece)
package incremental
