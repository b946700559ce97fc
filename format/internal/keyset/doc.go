// Package keyset finds duplicate keys in the maps of an encoded message.
//
// Keys are checked while the message is read: a Stack holds the keys of all open maps in a fixed table on the caller's
// goroutine stack. Duplicate reads a map with more keys a second time. Its time grows linearly with the map's size, even
// for keys that an attacker chooses, because the seed of Hash is random in each process.
//
//	var keys keyset.Stack
//	m := keys.Open()
//	h, _ := keyset.Hash(name, false)
//	m.Add(&keys, h)
//	if !keys.Close(&m) { ... Duplicate ... }
package keyset
