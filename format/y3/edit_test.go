package y3

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format/formattest"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	formattest.EditCases(t, Format{}, []formattest.EditCase{
		{Name: "a new key", Data: "\x01\x01\x7f", Op: "insert", Path: "0x02", Value: formattest.Int(-2), Want: "\x01\x01\x7f\x02\x01\x7e"},
		{Name: "into an empty node", Data: "\x81\x00\x02\x00", Op: "insert", Path: "0x01.0x10", Value: formattest.Text("x"), Want: "\x81\x03\x10\x01x\x02\x00"},
		{Name: "the node's length takes two bytes", Data: "\x81\x3e\x10\x3c" + x(60), Op: "insert", Path: "0x01.0x11", Value: field.Value{Kind: field.Bool, Bool: true}, Want: "\x81\x80\x41\x10\x3c" + x(60) + "\x11\x01\x01"},
		{Name: "both nodes' lengths do", Data: "\x82\x3f\x81\x3d\x10\x3b" + x(59), Op: "insert", Path: "0x02.0x01.0x11", Value: formattest.Int(1), Want: "\x82\x80\x43\x81\x80\x40\x10\x3b" + x(59) + "\x11\x01\x01"},
		{Name: "lengths of one byte again", Data: "\x82\x80\x43\x81\x80\x40\x10\x3b" + x(59) + "\x11\x01\x01", Op: "delete", Path: "0x02.0x01.0x11", Want: "\x82\x3f\x81\x3d\x10\x3b" + x(59)},
		{Name: "before an item", Data: "\xc1\x06\x00\x01\x01\x00\x01\x02", Op: "insert", Path: "0x01.1", Value: formattest.Int(3), Want: "\xc1\x09\x00\x01\x01\x00\x01\x03\x00\x01\x02"},
		{Name: "behind the last item", Data: "\xc1\x03\x00\x01\x01\x02\x00", Op: "insert", Path: "0x01.1", Value: formattest.Int(3), Want: "\xc1\x06\x00\x01\x01\x00\x01\x03\x02\x00"},
		{Name: "a node", Data: "\x01\x00", Op: "insert", Path: "0x02", Value: formattest.Encoded(field.Map, "\x10\x01x"), Want: "\x01\x00\x82\x03\x10\x01x"},
		{Name: "an empty node", Data: "\x01\x00", Op: "insert", Path: "0x02", Value: field.Value{Kind: field.Map}, Want: "\x01\x00\x82\x00"},
		{Name: "a slice", Data: "\x01\x00", Op: "insert", Path: "0x02", Value: formattest.Encoded(field.List, "\x00\x01x\x00\x01y"), Want: "\x01\x00\xc2\x06\x00\x01x\x00\x01y"},
		{Name: "delete a node", Data: "\x01\x00\x82\x03\x10\x01x", Op: "delete", Path: "0x02", Want: "\x01\x00"},
		{Name: "delete the only packet of a node", Data: "\x01\x00\x82\x03\x10\x01x", Op: "delete", Path: "0x02.0x10", Want: "\x01\x00\x82\x00"},
		{Name: "replace: the length grows", Data: "\x82\x03\x10\x01x", Op: "replace", Path: "0x02.0x10", Value: formattest.Text(x(64)), Want: "\x82\x80\x43\x10\x80\x40" + x(64)},
		{Name: "replace: a needless length byte goes", Data: "\x82\x80\x03\x10\x01x", Op: "replace", Path: "0x02.0x10", Value: formattest.Text("y"), Want: "\x82\x03\x10\x01y"},

		{Name: "a key that is there", Data: "\x01\x01\x7f", Op: "insert", Path: "0x01", Value: formattest.Int(2), Err: "there already"},
		{Name: "a name", Data: "\x01\x01\x7f", Op: "insert", Path: "name", Value: formattest.Int(2), Err: `0x00 to 0x3f, and not "name"`},
		{Name: "a float", Data: "\x01\x01\x7f", Op: "insert", Path: "0x02", Value: field.Value{Kind: field.Float}, Err: "say float32 or float64"},
		{Name: "null", Data: "\x01\x01\x7f", Op: "insert", Path: "0x02", Value: field.Value{Kind: field.Null}, Err: "a primitive packet holds"},
		{Name: "no parent", Data: "\x01\x01\x7f", Op: "insert", Path: "0x02.0x03", Value: formattest.Int(2), Err: "not found"},
		{Name: "a primitive as parent", Data: "\x01\x01\x7f", Op: "insert", Path: "0x01.0x03", Value: formattest.Int(2), Err: "not found"},
		{Name: "an index too large", Data: "\xc1\x03\x00\x01\x01", Op: "insert", Path: "0x01.2", Value: formattest.Int(3), Err: "not found"},
		{Name: "key 0 first in a node", Data: "\x81\x00", Op: "insert", Path: "0x01.0x00", Value: formattest.Int(3), Err: "a node whose first key is 0x00 is a slice"},
		{Name: "a map that reads as a slice", Data: "\x01\x00", Op: "insert", Path: "0x02", Value: formattest.Encoded(field.Map, "\x00\x01x"), Err: "are a slice"},
		{Name: "a slice with keys", Data: "\x01\x00", Op: "insert", Path: "0x02", Value: formattest.Encoded(field.List, "\x10\x01x"), Err: "slice item with key 0x10"},
		{Name: "a node that is malformed", Data: "\x01\x00", Op: "insert", Path: "0x02", Value: formattest.Encoded(field.Map, "\x10\x02x"), Err: "y3: the map to be inserted"},
		{Name: "delete the only packet", Data: "\x01\x01\x7f", Op: "delete", Path: "0x01", Err: "a message without a packet is none"},
		{Name: "delete what keeps a node from being a slice", Data: "\x81\x05\x10\x01x\x00\x00", Op: "delete", Path: "0x01.0x10", Err: "would be a slice"},
		{Name: "delete what makes it a slice", Data: "\x81\x03\x00\x01x", Op: "delete", Path: "0x01.0", Err: "would be a node"},
		{Name: "delete the whole message", Data: "\x01\x00", Op: "delete", Err: "cannot be deleted"},
		{Name: "delete nothing", Data: "\x01\x00", Op: "delete", Path: "0x02", Err: "not found"},
		{Name: "cut off in the value", Data: "\x01\x02x", Op: "delete", Path: "0x01", Err: "unexpected EOF"},
		{Name: "replace a node", Data: "\x81\x00", Op: "replace", Path: "0x01", Value: formattest.Int(1), Err: "only a primitive"},
	})
	formattest.EditCases(t, Format{Dialect: N}, []formattest.EditCase{
		{Name: "N: an integer", Data: "\x01\x01\x7f", Op: "insert", Path: "0x02", Value: formattest.Int(300), Want: "\x01\x01\x7f\x02\x02\x01\x2c"},
		{Name: "N: key 0 first in a node", Data: "\x81\x00", Op: "insert", Path: "0x01.0x00", Value: formattest.Int(3), Want: "\x81\x03\x00\x01\x03"},
		{Name: "N: a slice", Data: "\x01\x00", Op: "insert", Path: "0x02", Value: formattest.Encoded(field.List, "\x00\x01x"), Err: "dialect N has no slices"},
	})
}
