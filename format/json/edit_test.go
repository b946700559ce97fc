package json

import (
	"math"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format/formattest"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	formattest.EditCases(t, Format{}, []formattest.EditCase{
		{Name: "a new name", Data: `{"a":1}`, Op: "insert", Path: "b", Value: formattest.Int(2), Want: `{"a":1,"b":2}`},
		{Name: "into an empty object", Data: ` { } `, Op: "insert", Path: "b", Value: formattest.Int(2), Want: ` {"b":2 } `},
		{Name: "white space stays", Data: "{ \"a\" : 1\n}", Op: "insert", Path: "b", Value: formattest.Text("x"), Want: "{ \"a\" : 1,\"b\":\"x\"\n}"},
		{Name: "a name with escapes", Data: `{}`, Op: "insert", Path: "say \"hi\"\n", Value: formattest.Int(2), Want: `{"say \"hi\"\n":2}`},
		{Name: "before the first item", Data: `[ 1, 2]`, Op: "insert", Path: "0", Value: formattest.Int(3), Want: `[ 3,1, 2]`},
		{Name: "between items", Data: `[ 1 , 2]`, Op: "insert", Path: "1", Value: formattest.Int(3), Want: `[ 1,3 , 2]`},
		{Name: "behind the last item", Data: `[ 1 , 2 ]`, Op: "insert", Path: "2", Value: formattest.Int(3), Want: `[ 1 , 2,3 ]`},
		{Name: "a list", Data: `{"a":{}}`, Op: "insert", Path: "a.b", Value: formattest.Encoded(field.List, "[1, 2]"), Want: `{"a":{"b":[1, 2]}}`},
		{Name: "a map before the first item", Data: `[1]`, Op: "insert", Path: "0", Value: formattest.Encoded(field.Map, "{}"), Want: `[{},1]`},
		{Name: "delete the only name", Data: `{ "a" : 1 }`, Op: "delete", Path: "a", Want: `{  }`},
		{Name: "delete the first name", Data: `{ "a" : 1 , "b" : 2 }`, Op: "delete", Path: "a", Want: `{ "b" : 2 }`},
		{Name: "delete the last name", Data: `{ "a" : 1 , "b" : 2 }`, Op: "delete", Path: "b", Want: `{ "a" : 1 }`},
		{Name: "delete a name with escapes", Data: `{"a":1,"\u0062":2,"c":3}`, Op: "delete", Path: "b", Want: `{"a":1,"c":3}`},
		{Name: "delete an item", Data: `[1,[2,{}],3]`, Op: "delete", Path: "1", Want: `[1,3]`},
		{Name: "replace by a longer one", Data: `{"a":"x"}`, Op: "replace", Path: "a", Value: formattest.Text("\"\\"), Want: `{"a":"\"\\"}`},

		{Name: "a name that is there in escapes", Data: `{"\u0061":1}`, Op: "insert", Path: "a", Value: formattest.Int(2), Err: "there already"},
		{Name: "the whole message", Data: `{}`, Op: "insert", Value: formattest.Int(2), Err: "there already"},
		{Name: "no parent", Data: `{"a":1}`, Op: "insert", Path: "b.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "a scalar as parent", Data: `{"a":1}`, Op: "insert", Path: "a.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "an index too large", Data: `[1]`, Op: "insert", Path: "2", Value: formattest.Int(3), Err: "not found"},
		{Name: "a name in a list", Data: `[1]`, Op: "insert", Path: "a", Value: formattest.Int(3), Err: "not found"},
		{Name: "bytes", Data: `{}`, Op: "insert", Path: "a", Value: field.Value{Kind: field.Bytes}, Err: "JSON has no form"},
		{Name: "NaN", Data: `{}`, Op: "insert", Path: "a", Value: field.Value{Kind: field.Float, Float: math.NaN()}, Err: "JSON has no form"},
		{Name: "a container that is malformed", Data: `{}`, Op: "insert", Path: "a", Value: formattest.Encoded(field.Map, `{"a" 1}`), Err: "json: the map to be inserted"},
		{Name: "two containers", Data: `{}`, Op: "insert", Path: "a", Value: formattest.Encoded(field.Map, `{},{}`), Err: "behind the message"},
		{Name: "a container of another kind", Data: `{}`, Op: "insert", Path: "a", Value: formattest.Encoded(field.List, `{}`), Err: "its encoding is that of no list"},
		{Name: "cut off before the end", Data: `{"a":1`, Op: "insert", Path: "b", Value: formattest.Int(2), Err: "unexpected EOF"},
		{Name: "cut off behind the value", Data: `{"a":1`, Op: "delete", Path: "a", Err: "unexpected EOF"},
		{Name: "no separator", Data: `{"a":1 "b":2}`, Op: "delete", Path: "a", Err: "a comma"},
		{Name: "delete the whole message", Data: `{}`, Op: "delete", Err: "cannot be deleted"},
		{Name: "delete nothing", Data: `{"a":1}`, Op: "delete", Path: "b", Err: "not found"},
	})
}
