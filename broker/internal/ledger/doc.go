// Package ledger keeps the credit of publishers.
//
// An Account is the credit of one publisher for one tag. What the publisher sends is taken from its credit once, and returns once: when it
// is routed, or, on a tag that is stored, in the order of the messages when they are stored or dropped. A Hold is one reason for which the
// credit of publishers is withheld, such as a full queue. Confirmations are the responses to PINGs that wait for such messages.
//
//	a.Request()                             // the client gets a whole window, unless a Hold withholds it
//	a.Spend(n, last)                        // it has sent a run of n bytes
//	a.Routed(n)                             // which was routed: the bytes return in halves of a window
//	a.Enter(Run{Lane: stream, Bytes: n})    // or is to be stored
//	a.Stored(stream, Notice{}, nil)         // and is now
//	a.Leave()                               // the client has gone
package ledger
