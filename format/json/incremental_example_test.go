package json_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
)

func ExampleFormat_NewSearch() {
	search := json.Format{}.NewSearch(field.MustParse("deviceName"), format.SearchOptions{})
	for _, piece := range []string{`{"device`, `Name":"pu`, `mp-1","rea`, `dings":[`} {
		answer, err := search.Feed([]byte(piece))
		if answer != format.Found || err != nil {
			fmt.Println(answer, err)
			continue
		}
		v, err := search.Value(field.AnyType)
		fmt.Printf("%v %s %v\n", answer, v.Bytes, err)
		return
	}
	// Output:
	// more <nil>
	// more <nil>
	// found pump-1 <nil>
}
