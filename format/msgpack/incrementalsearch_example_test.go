package msgpack_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/msgpack"
)

func ExampleFormat_NewSearch() {
	search := msgpack.Format{}.NewSearch(field.MustParse("deviceName"), format.SearchOptions{})
	for fed := 0; fed < len(event); fed += 4 {
		answer, err := search.Feed(event[fed:min(fed+4, len(event))])
		if err != nil {
			fmt.Println(err)
			return
		}
		if answer == format.Found {
			v, err := search.Value(field.AnyType)
			fmt.Printf("%s %v, after %d of %d bytes\n", v.Bytes, err, fed+4, len(event))
			return
		}
	}
	// Output: pump-1 <nil>, after 20 of 37 bytes
}
