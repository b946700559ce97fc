// Package hop is the node's side of the native wire: it accepts connections, checks who they are, and forwards what
// sources publish to the subscriptions that ask for it.
//
// It looks at the 24-byte header of a message and, only where a subscription has a predicate, at the fields that names;
// it never decodes a payload. A run of frames is copied once, from the buffer it was read into to the buffer it is
// written from; frames from 16 KiB on are shared and not copied at all. Each (subscription, tag) is a lane with credit
// and a bounded queue of its own, so a slow consumer holds up its own tag and nothing else.
//
//	h, err := hop.New(hop.Config{Identify: hop.Anyone, Formats: all.Formats()})
//	err = h.Serve(ctx, listener, hop.ValidateFull)
package hop
