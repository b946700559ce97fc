package bson_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
)

func ExampleFormat_NewSearch() {
	search := bson.Format{}.NewSearch(field.MustParse("deviceName"), format.SearchOptions{})
	for i := range event {
		answer, err := search.Feed(event[i : i+1])
		if err != nil {
			fmt.Println(err)
			return
		}
		if answer == format.Found {
			v, err := search.Value(field.AnyType)
			fmt.Printf("%s %v, after %d of %d bytes\n", v.Bytes, err, i+1, len(event))
			return
		}
	}
	// Output: pump-1 <nil>, after 26 of 62 bytes
}
