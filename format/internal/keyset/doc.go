// Package keyset finds a key that stands twice in one map of an encoded message.
//
// Usual maps are checked key by key while the message is read: a Stack holds the keys of all open maps in a fixed table
// that lies on the caller's goroutine stack. A map with more keys than that is read once more by Duplicate, whose time
// grows with the map's size and not with its square, also for keys chosen by an attacker: Hash is seeded by the process.
//
//	var keys keyset.Stack
//	m := keys.Open()
//	h, _ := keyset.Hash(name, false)
//	m.Add(&keys, h)
//	if !keys.Close(&m) { ... Duplicate ... }
package keyset
