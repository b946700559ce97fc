package y3_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/y3"
)

func ExampleFormat_NewSearch() {
	message := reading()
	search := y3.Format{}.NewSearch(field.MustParse("0x01.0x11"), format.SearchOptions{})
	for i := range message {
		answer, err := search.Feed(message[i : i+1])
		if err != nil {
			fmt.Println(err)
			return
		}
		if answer == format.Found {
			v, err := search.Value(field.String)
			fmt.Printf("%s %v, after %d of %d bytes\n", v.Bytes, err, i+1, len(message))
			return
		}
	}
	// Output: pump-1 <nil>, after 13 of 21 bytes
}
