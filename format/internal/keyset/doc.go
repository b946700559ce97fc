// Package keyset finds duplicate keys in the maps of an encoded message.
//
// Keys are compared while the message is read. A Stack holds the hashes of the keys of all open maps: the first 64 in
// an array, which needs no allocation, and further ones on the heap, eight bytes a key. If two hashes of a map are equal,
// Duplicate reads the map a second time to compare the keys. The time grows linearly with the size of the message, even
// for keys and nesting that an attacker chooses, because Hash uses random seeds in each process.
//
//	var keys keyset.Stack
//	m := keys.Open()
//	h, _ := keyset.Hash(name, false)
//	m.Add(&keys, h)
//	if !keys.Close(&m) { ... Duplicate ... }
package keyset
