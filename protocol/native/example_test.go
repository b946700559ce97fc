package native_test

import (
	"fmt"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

func Example() {
	buf := native.AppendPub(nil, native.PubHeader{Tag: 7, Source: 3, Time: 1, Type: ferry.JSON}, []byte(`{"v":31}`))
	buf = native.AppendPing(buf, false, 42)
	for len(buf) > 0 {
		frame, err := native.Split(buf, native.DefaultMaxFrame)
		if err != nil || frame == nil {
			fmt.Println("incomplete or malformed:", err)
			return
		}
		switch frame.Kind() {
		case native.Pub:
			fmt.Println("PUB on tag", frame.Tag(), "of", frame.Type(), string(frame.Payload()))
		default:
			fmt.Println(frame.Kind())
		}
		buf = buf[len(frame):]
	}
	// Output:
	// PUB on tag 7 of json {"v":31}
	// PING
}
