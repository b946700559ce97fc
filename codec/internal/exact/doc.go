// Package exact checks the rule of all codecs for floats: a number of the message that a float variable would round is an
// error, because it is a value that the variable's type cannot hold. In JSON that holds for whole numbers only, because
// nearly every decimal fraction is rounded.
//
//	var rules = &exact.Rules{Format: formatcbor.Format{}, Tags: []string{"cbor", "json"}}
//
//	if err := rules.Check(data, v); err != nil {
//		return err
//	}
package exact
