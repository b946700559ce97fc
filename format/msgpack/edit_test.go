package msgpack

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
			s += "\xa1" + string(rune('A'+i)) + "\x01"
		}
		return s
	}
	nils := func(n int) string { return strings.Repeat("\xc0", n) }
	formattest.EditCases(t, Format{}, []formattest.EditCase{
		{Name: "a new key", Data: "\x81\xa1a\x01", Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\x82\xa1a\x01\xa1b\x02"},
		{Name: "into an empty map", Data: "\x80", Op: "insert", Path: "7", Value: formattest.Text("x"), Want: "\x81\xa17\xa1x"},
		{Name: "the 16th key takes a longer head", Data: "\x8f" + pairs(15), Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\xde\x00\x10" + pairs(15) + "\xa1b\x02"},
		{Name: "15 keys have a shorter head", Data: "\xde\x00\x10" + pairs(16), Op: "delete", Path: "P", Want: "\x8f" + pairs(15)},
		{Name: "a head with needless bytes", Data: "\xdf\x00\x00\x00\x01\xa1a\x01", Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\x82\xa1a\x01\xa1b\x02"},
		{Name: "the 300th item", Data: "\xdc\x01\x2b" + nils(299), Op: "insert", Path: "299", Value: formattest.Int(3), Want: "\xdc\x01\x2c" + nils(299) + "\x03"},
		{Name: "the 65536th item", Data: "\xdc\xff\xff" + nils(65535), Op: "insert", Path: "0", Value: formattest.Int(3), Want: "\xdd\x00\x01\x00\x00\x03" + nils(65535)},
		{Name: "before an item", Data: "\x92\x01\x02", Op: "insert", Path: "1", Value: formattest.Int(3), Want: "\x93\x01\x03\x02"},
		{Name: "behind the last item", Data: "\x92\x01\x02", Op: "insert", Path: "2", Value: formattest.Int(3), Want: "\x93\x01\x02\x03"},
		{Name: "an integer key among integer keys", Data: "\x81\x01\x02", Op: "insert", Path: "300", Value: formattest.Int(2), Want: "\x82\x01\x02\xcd\x01\x2c\x02"},
		{Name: "a negative one", Data: "\x81\x01\x02", Op: "insert", Path: "-7", Value: formattest.Int(2), Want: "\x82\x01\x02\xf9\x02"},
		{Name: "a text among integer keys", Data: "\x81\x01\x02", Op: "insert", Path: "b", Value: formattest.Int(2), Want: "\x82\x01\x02\xa1b\x02"},
		{Name: "a map", Data: "\x81\xa1a\x90", Op: "insert", Path: "a.0", Value: formattest.Encoded(field.Map, "\x81\xa1b\xc0"), Want: "\x81\xa1a\x91\x81\xa1b\xc0"},
		{Name: "delete the only key", Data: "\x81\xa1a\x91\x01", Op: "delete", Path: "a", Want: "\x80"},
		{Name: "delete an item", Data: "\x93\x01\x92\x01\x02\x03", Op: "delete", Path: "1", Want: "\x92\x01\x03"},
		{Name: "replace by a longer one", Data: "\x82\xa1a\xa1x\xa1b\x02", Op: "replace", Path: "a", Value: formattest.Text("xyz"), Want: "\x82\xa1a\xa3xyz\xa1b\x02"},

		{Name: "a key that is there", Data: "\x81\xa1a\x01", Op: "insert", Path: "a", Value: formattest.Int(2), Err: "there already"},
		{Name: "an integer that is there as a text", Data: "\x82\x01\x01\xa15\x01", Op: "insert", Path: "5", Value: formattest.Int(2), Err: "there already"},
		{Name: "the whole message", Data: "\x80", Op: "insert", Value: formattest.Int(2), Err: "there already"},
		{Name: "no parent", Data: "\x81\xa1a\x01", Op: "insert", Path: "b.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "a scalar as parent", Data: "\x81\xa1a\x01", Op: "insert", Path: "a.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "an index too large", Data: "\x92\x01\x02", Op: "insert", Path: "3", Value: formattest.Int(3), Err: "not found"},
		{Name: "a container that is malformed", Data: "\x80", Op: "insert", Path: "a", Value: formattest.Encoded(field.List, "\xc1"), Err: "msgpack: the list to be inserted"},
		{Name: "a container of another kind", Data: "\x80", Op: "insert", Path: "a", Value: formattest.Encoded(field.Map, "\x90"), Err: "its encoding is that of no map"},
		{Name: "a key that is not UTF-8", Data: "\x80", Op: "insert", Path: "a\xff", Value: formattest.Int(1), Err: "not UTF-8"},
		{Name: "more items than there are bytes", Data: "\xdd\xff\xff\xff\xff\x01", Op: "insert", Path: "0", Value: formattest.Int(1), Err: "unexpected EOF"},
		{Name: "cut off in the value", Data: "\x81\xa1a\xa2x", Op: "delete", Path: "a", Err: "unexpected EOF"},
		{Name: "delete the whole message", Data: "\x80", Op: "delete", Err: "cannot be deleted"},
		{Name: "delete nothing", Data: "\x81\xa1a\x01", Op: "delete", Path: "b", Err: "not found"},
	})
}
