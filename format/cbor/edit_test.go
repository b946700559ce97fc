package cbor

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format/formattest"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	pairs := func(n int) (s string) {
		for i := range n {
			s += "\x61" + string(rune('A'+i)) + "\x01"
		}
		return s
	}
	deep := strings.Repeat("\x81", 31) + "\x80"
	formattest.EditCases(t, Format{}, []formattest.EditCase{
		{Name: "a new key", Data: "\xa1\x61a\x01", Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\xa2\x61a\x01\x61b\x02"},
		{Name: "into an empty map", Data: "\xa0\x01", Op: "insert", Path: "7", Value: formattest.Text("x"), Want: "\xa1\x617\x61x\x01"},
		{Name: "the 24th key takes a longer head", Data: "\xb7" + pairs(23), Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\xb8\x18" + pairs(23) + "\x61b\x02"},
		{Name: "23 keys have a shorter head", Data: "\xb8\x18" + pairs(24), Op: "delete", Path: "X", Want: "\xb7" + pairs(23)},
		{Name: "a head with needless bytes", Data: "\xb8\x01\x61a\x01", Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\xa2\x61a\x01\x61b\x02"},
		{Name: "before the break", Data: "\xbf\x61a\x01\xff", Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\xbf\x61a\x01\x61b\x02\xff"},
		{Name: "out of indefinite length", Data: "\xbf\x61a\x01\x61b\x02\xff", Op: "delete", Path: "a", Want: "\xbf\x61b\x02\xff"},
		{Name: "before an item", Data: "\x82\x01\x02", Op: "insert", Path: "1", Value: formattest.Int(3), Want: "\x83\x01\x03\x02"},
		{Name: "behind the last item", Data: "\x82\x01\x02", Op: "insert", Path: "2", Value: formattest.Int(3), Want: "\x83\x01\x02\x03"},
		{Name: "last of indefinite length", Data: "\x9f\x01\xff", Op: "insert", Path: "1", Value: formattest.Int(3), Want: "\x9f\x01\x03\xff"},
		{Name: "an integer key among integer keys", Data: "\xa1\x01\x02", Op: "insert", Path: "300", Value: formattest.Int(2), Want: "\xa2\x01\x02\x19\x01\x2c\x02"},
		{Name: "a negative one", Data: "\xa1\x01\x02", Op: "insert", Path: "-7", Value: formattest.Int(2), Want: "\xa2\x01\x02\x26\x02"},
		{Name: "a text among integer keys", Data: "\xa1\x01\x02", Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\xa2\x01\x02\x61b\x02"},
		{Name: "digits among text keys", Data: "\xa1\x61a\x02", Op: "insert", Path: "5", Value: formattest.Int(2), Want: "\xa2\x61a\x02\x615\x02"},
		{Name: "into a tagged list", Data: "\xc9\x81\x01", Op: "insert", Path: "1", Value: formattest.Int(2), Want: "\xc9\x82\x01\x02"},
		{Name: "a map", Data: "\xa1\x61a\x80", Op: "insert", Path: "a.0", Value: formattest.Encoded(field.Map, "\xbf\xff"), Want: "\xa1\x61a\x81\xbf\xff"},
		{Name: "delete the only key", Data: "\xa1\x61a\x81\x01", Op: "delete", Path: "a", Want: "\xa0"},
		{Name: "delete a tagged value", Data: "\xa2\x61a\xc1\x01\x61b\x02", Op: "delete", Path: "a", Want: "\xa1\x61b\x02"},
		{Name: "delete an item", Data: "\x83\x01\x82\x01\x02\x03", Op: "delete", Path: "1", Want: "\x82\x01\x03"},
		{Name: "replace by a longer one; the tag stays", Data: "\xa1\x61a\xc1\x01", Op: "replace", Path: "a", Value: formattest.Int(300), Want: "\xa1\x61a\xc1\x19\x01\x2c"},

		{Name: "a key that is there", Data: "\xa1\x61a\x01", Op: "insert", Path: "a", Value: formattest.Int(2), Err: "there already"},
		{Name: "a float key that is the same number", Data: "\xa1\xf9\x3c\x00\x01", Op: "insert", Path: "1", Value: formattest.Int(2), Err: "there already"},
		{Name: "the whole message", Data: "\xa0", Op: "insert", Err: "there already"},
		{Name: "no parent", Data: "\xa1\x61a\x01", Op: "insert", Path: "b.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "a scalar as parent", Data: "\xa1\x61a\x01", Op: "insert", Path: "a.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "an index too large", Data: "\x82\x01\x02", Op: "insert", Path: "3", Value: formattest.Int(3), Err: "not found"},
		{Name: "a name in a list", Data: "\x82\x01\x02", Op: "insert", Path: "a", Value: formattest.Int(3), Err: "not found"},
		{Name: "a container that is malformed", Data: "\xa0", Op: "insert", Path: "a", Value: formattest.Encoded(field.List, "\x81"), Err: "cbor: the list to be inserted: unexpected EOF"},
		{Name: "a container of another kind", Data: "\xa0", Op: "insert", Path: "a", Value: formattest.Encoded(field.List, "\xa0"), Err: "its encoding is that of no list"},
		{Name: "nested too deep", Data: "\xa1\x61a\xc1\x80", Op: "insert", Path: "a.0", Value: formattest.Encoded(field.List, deep[2:]), Err: "nested deeper"},
		{Name: "a text that is not UTF-8", Data: "\xa0", Op: "insert", Path: "a", Value: formattest.Text("\xff"), Err: "not UTF-8"},
		{Name: "a key that is not UTF-8", Data: "\xa0", Op: "insert", Path: "a\xff", Value: formattest.Int(1), Err: "not UTF-8"},
		{Name: "no value", Data: "\xa0", Op: "insert", Path: "a", Err: "a scalar can be inserted"},
		{Name: "more items than there are bytes", Data: "\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01", Op: "insert", Path: "0", Value: formattest.Int(1), Err: "unexpected EOF"},
		{Name: "cut off in the value", Data: "\xa1\x61a\x62x", Op: "delete", Path: "a", Err: "unexpected EOF"},
		{Name: "delete the whole message", Data: "\xa0", Op: "delete", Err: "cannot be deleted"},
		{Name: "delete nothing", Data: "\xa1\x61a\x01", Op: "delete", Path: "b", Err: "not found"},
		{Name: "replace by another kind", Data: "\xa1\x61a\x01", Op: "replace", Path: "a", Value: formattest.Text("x"), Err: "cannot use"},
	})
}
