// Package keyset finds duplicate keys in the maps of an encoded message.
//
// Keys are compared while the message is read. A Stack holds hashes of the keys of all open maps in an array of fixed
// size, which needs no allocation. If the array is full or two hashes are equal, Duplicate reads the map a second time.
// Its time grows linearly with the map's size, even for keys that an attacker chooses, because Hash uses a random seed
// in each process.
//
//	var keys keyset.Stack
//	m := keys.Open()
//	h, _ := keyset.Hash(name, false)
//	m.Add(&keys, h)
//	if !keys.Close(&m) { ... Duplicate ... }
package keyset
