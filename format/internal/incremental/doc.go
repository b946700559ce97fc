// Package incremental runs a format's grammar over a message that arrives in pieces.
//
// A Grammar is asked about the start of what has arrived, and says how many bytes that takes: of a head, of a key, of a
// text that nobody wants, most of which may still be to come. A Search puts pieces together where a head or key is cut,
// passes the rest unseen and uncopied, and keeps the bytes of the one value that is sought. Counted is the grammar of
// formats whose containers say how many items they hold.
//
//	search := incremental.New(Format{}, grammar, options)
//	answer, err := search.Feed(piece)
package incremental
