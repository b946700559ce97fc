package cbor_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

func ExampleFormat_NewSearch() {
	search := cbor.Format{}.NewSearch(field.MustParse("deviceName"), format.SearchOptions{})
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
	// Output: pump-1 <nil>, after 20 of 38 bytes
}

func ExampleFormat_NewSearch_absent() {
	search := cbor.Format{}.NewSearch(field.MustParse("readings.3"), format.SearchOptions{})
	for i := range event {
		if answer, err := search.Feed(event[i : i+1]); answer != format.More || err != nil {
			fmt.Println(answer, err, "after", i+1, "bytes")
			return
		}
	}
	// Output: absent <nil> after 29 bytes
}
