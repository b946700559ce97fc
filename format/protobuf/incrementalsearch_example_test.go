package protobuf_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/protobuf"
)

func ExampleFormat_NewSearch() {
	message := []byte("\x0a\x06pump-1\x12\x02\x08\x1e\x1a\x05later")
	search := protobuf.Format{}.NewSearch(field.MustParse("2.1"), format.SearchOptions{})
	for i := range message {
		answer, err := search.Feed(message[i : i+1])
		if err != nil {
			fmt.Println(err)
			return
		}
		if answer == format.Found {
			v, err := search.Value(field.Int32)
			fmt.Println(v.Int, err, "after", i+1, "of", len(message), "bytes")
			return
		}
	}
	// Output: 30 <nil> after 12 of 19 bytes
}
