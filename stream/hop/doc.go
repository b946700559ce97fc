// Package hop is the broker, the node's side of streams: it accepts connections, identifies their clients, and forwards
// what sources publish to the subscriptions that match.
//
// It reads the 24-byte header of a message and, only where a subscription has a predicate, the fields that the predicate
// names. It never decodes a payload. A run of frames is copied once, from the buffer it was read into to the buffer it is
// written from; frames of 16 KiB and more are shared and not copied. Each subscription has a delivery queue for each tag,
// with credit and a bound of its own, so a slow consumer holds up its own tag and nothing else.
//
//	b, err := hop.New(hop.Config{Identify: hop.Anyone, Formats: all.Formats()})
//	err = b.Serve(ctx, listener, hop.ValidateFull)
package hop
